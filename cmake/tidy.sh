#!/usr/bin/env bash
# tidy.sh <build folder> <source folder>: clang-tidy over every source of harness/ and workloads/, on all cores.
#
# Nearly all of its time goes into headers, again for each source (10 s for one that uses JSON, of which its own code
# takes less than one). So sources are joined to batches, and a batch is checked as one, with the include folders and
# definitions of all of them; other flags must be equal. What a batch complains about is checked again source by source,
# and only that counts: two sources may well use a name twice that they must not share.
set -euo pipefail
readonly build=$1 source=$2
readonly batches=$build/batches
readonly largest_batch=48
rm -rf "$batches"
mkdir -p "$batches"

# flags <tab> source, of each compile command; "-o <object> -c <source>" is not among the flags.
sed -nE 's/^ *"command": "(.*) -o [^ ]+ -c ([^ ]+)",?$/\1\t\2/p' "$build/compile_commands.json" |
  sed -E 's/\\(.)/\1/g' | awk -F '\t' -v root="$source/" 'index($2, root "harness/") == 1 || index($2, root "workloads/") == 1' |
  sort -u >"$build/tidy_sources"
listed=$(grep -cE "^ *\"file\": \"$source/(harness|workloads)/" "$build/compile_commands.json" || true)
if [ "$listed" -eq 0 ] || [ "$(wc -l <"$build/tidy_sources")" -ne "$listed" ]; then
  printf '%s: %s sources are listed, %s were understood\n' "$build/compile_commands.json" "$listed" "$(wc -l <"$build/tidy_sources")"
  exit 1
fi

# Joins sources that define no name twice at the top of their unnamed namespaces: "<batch> <tab> <flags> <tab> <source>".
awk -F '\t' -v largest="$largest_batch" '
  # The flags that decide what a source means; which folders it sees and whether it is position-independent do not.
  function dialect_of(flags) {
    gsub(/ -(I|D)[^ ]+| -isystem [^ ]+| -fPI[CE]/, "", flags)
    return flags
  }
  function names_of(path,   line, inside, folder) {
    delete names
    folder = path
    sub(/\/[^\/]*$/, "", folder)  # a library has a namespace of its own
    while ((getline line < path) > 0) {
      if (line ~ /^#define /) { split(line, word, " "); sub(/\(.*/, "", word[2]); names[word[2]] = path }
      if (line ~ /^namespace \{/) inside = 1
      else if (line ~ /^\}  \/\/ namespace/) inside = 0
      else if (inside && line ~ /^[A-Za-z]/ && match(line, /[A-Za-z_0-9]+(\(|\[|;|\{| \{| =| : )/)) {
        name = substr(line, RSTART, RLENGTH)
        sub(/[^A-Za-z_0-9].*/, "", name)
        names[folder "/" name] = path
      }
      else if (line ~ /^int main\(/) names["main"] = path
      else if (match(line, /^#include "[^\/"]+"/)) names[line] = folder  # two folders may each have their own
    }
    close(path)
  }
  function fits(batch,   name) {
    if (dialect[batch] != dialect_of($1) || size[batch] >= largest) return 0
    for (name in names) if ((batch, name) in taken && taken[batch, name] != names[name]) return 0
    return 1
  }
  {
    names_of($2)
    for (batch = 1; batch <= count && !fits(batch); ++batch) continue
    if (batch > count) { count = batch; dialect[batch] = dialect_of($1) }
    ++size[batch]
    for (name in names) taken[batch, name] = names[name]
    printf "%d\t%s\t%s\n", batch, $1, $2
  }' "$build/tidy_sources" >"$build/tidy_batches"

# A batch is the text of its sources, not a list of includes: some checks look only at the file they are given.
while IFS=$'\t' read -r batch flags path; do
  cat "$path" >>"$batches/$batch.${path##*.}"
  # One flag a line, an include folder with the word before it.
  printf '%s -iquote %s\n' "$flags" "$(dirname "$path")" | sed -E 's/ (-isystem|-iquote) /\t\1 /g; s/ -/\n-/g; s/\t/\n/g' >>"$batches/$batch.flags"
done <"$build/tidy_batches"

# check <source> <flags>...: the first word of the flags is the compiler.
check() {
  local path=$1 flags
  read -r _ flags <<<"$2"
  eval "'${CLANG_TIDY:-clang-tidy}' --quiet '$path' -- $flags" 2>&1
}
export -f check
# A name of one source may hide another's; within a source g++ finds that.
check_batch() {
  local name=${1%.*} flags
  flags=$(awk '!seen[$0]++' "$name.flags" | tr '\n' ' ')  # in their order: the last of two optimisation levels holds
  check "$1" "$flags -Wno-shadow" >"$name.log" || touch "$name.failed"
}
export -f check_batch
find "$batches" -name '*.c*' -printf '%s %p\n' | sort -rn | cut -d ' ' -f 2- >"$build/tidy_joined"  # the longest first
printf '%d sources in %d batches\n' "$(wc -l <"$build/tidy_batches")" "$(wc -l <"$build/tidy_joined")"
xargs -a "$build/tidy_joined" -P "$(nproc)" -I {} bash -c 'check_batch {}'

status=0
for failed in $(find "$batches" -name '*.failed' | sort); do
  batch=$(basename "$failed" .failed)
  printf 'batch %s is checked source by source\n' "$batch"
  complaints=0
  while IFS=$'\t' read -r number flags path; do
    [ "$number" = "$batch" ] || continue
    check "$path" "$flags" || complaints=1
  done <"$build/tidy_batches"
  [ "$complaints" -eq 0 ] && grep -m 3 -E '(error|warning):' "$batches/$batch.log" && printf 'only the batch complains, which is no fault\n'
  status=$((status | complaints))
done
exit "$status"
