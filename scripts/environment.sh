# Finds a Python and makes a virtual environment from it; sourced by run.sh and test.sh.
#
# GE_HARNESS_PYTHON  the interpreter to use; otherwise the first of the list below
# GE_HARNESS_VENVS   folder of the virtual environments (default: .venv in the checkout)

SUPPORTED="3.11 3.12 3.10 3.13 3.9 3.8 3.7"

fail() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit "${2:-3}"
}

# Prints the path of an interpreter of version $1, or nothing.
python_of_version() {
  local candidate
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python \
    python3; do
    if "$candidate" -c "import sys, venv; sys.exit(sys.version_info[:2] != tuple(map(int, '$1'.split('.'))))" \
      >/dev/null 2>&1; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
}

# Sets PYTHON to the interpreter asked for with $1 (a version or "") or the preferred one.
choose_python() {
  local version
  if [ -n "${GE_HARNESS_PYTHON:-}" ]; then
    PYTHON=$GE_HARNESS_PYTHON
    "$PYTHON" -c 'import sys, venv; sys.exit(sys.version_info < (3, 7))' \
      >/dev/null 2>&1 || fail \
      "GE_HARNESS_PYTHON=$PYTHON is not a Python 3.7 or newer with venv"
    return
  fi
  for version in ${1:-$SUPPORTED}; do
    PYTHON=$(python_of_version "$version")
    [ -n "$PYTHON" ] && return
  done
  fail "no Python of version ${1:-$(echo $SUPPORTED | tr ' ' ',')} with venv found; \
install one (Debian: apt-get install python3 python3-venv) or set GE_HARNESS_PYTHON"
}

# Makes or reuses the environment $1 with the extras $2; sets VENV_PYTHON.
# The stamp holds everything that decides what is installed, so a repeat does nothing.
make_environment() {
  local name=$1 extras=$2 folder log free stamp wanted
  folder=${GE_HARNESS_VENVS:-$ROOT/.venv}/$name
  log=$folder/install.log
  stamp=$folder/installed
  wanted="$extras $("$PYTHON" -V 2>&1) $(cksum <"$ROOT/setup.py")"
  VENV_PYTHON=$folder/bin/python
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && "$VENV_PYTHON" -c '' \
    2>/dev/null; then
    return
  fi
  mkdir -p "$folder" 2>/dev/null || fail "cannot make the folder $folder"
  free=$(df -Pk "$folder" | awk 'NR == 2 { print int($4 / 1024) }')
  [ "${free:-0}" -ge "$3" ] || fail \
    "$3 MB of room are needed in $folder, $free MB are free"
  echo "$(basename "$0"): making the environment $name from $("$PYTHON" -V 2>&1) ..." >&2
  rm -f "$stamp"
  "$PYTHON" -m venv --clear "$folder" >/dev/null 2>&1 || fail \
    "'$PYTHON -m venv' failed; on Debian install python3-venv"
  if "$VENV_PYTHON" -c 'import sys; sys.exit(sys.version_info >= (3, 10))'; then
    # pip 24.1 and newer refuses metadata of packages that TensorFlow 1.15 and 2.6 need.
    pip_install "$log" 'pip>=21.3,<24.1' 'setuptools<70' wheel
  fi
  pip_install "$log" -e "$ROOT${extras:+[$extras]}"
  printf '%s' "$wanted" >"$stamp"
}

# Runs pip in the environment; a failure is one line that says why and where the log is.
pip_install() {
  local log=$1 why
  shift
  "$VENV_PYTHON" -m pip install --disable-pip-version-check -q "$@" >>"$log" 2>&1 &&
    return
  if grep -q 'No space left on device' "$log"; then
    why="no room left on the disk"
  elif grep -qE 'NewConnectionError|Temporary failure in name|Read timed out|ConnectTimeout|ProxyError|SSLError|from versions: none' "$log"; then
    why="the Python package registry could not be reached"
  else
    why=$(grep -E '^ *ERROR' "$log" | tail -n 1 | cut -c1-160)
    why="pip install failed: ${why:-no reason given}"
  fi
  fail "$why; the log is $log"
}
