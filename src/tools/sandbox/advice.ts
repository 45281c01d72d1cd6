import type { ProgramEnd } from './run-program.ts'

const noNetwork =
  /Network is unreachable|name resolution|Could not resolve host|Name or service not known|Connection refused|Temporary failure/i

/** A hint for the model about a program that failed. */
export function adviseAfter({ output, exitCode, endedFor }: ProgramEnd): string {
  if (endedFor?.type === 'too-much' || exitCode === 137)
    return 'Do the work in smaller steps, with less data at a time and less output, instead of the same call again.'
  if (endedFor?.type === 'aborted') return 'The call had no more time: do less in one call.'
  if (noNetwork.test(output)) return 'There is no network here, so nothing can be downloaded or installed: use what is installed.'
  if (/ModuleNotFoundError|No module named|command not found/.test(output))
    return 'It is not installed and cannot be installed, as there is no network: use what is installed, such as the standard library.'
  if (/MemoryError|Cannot allocate memory|std::bad_alloc/.test(output))
    return 'The memory of a program is limited: work on less data at a time.'
  if (exitCode === 152) return 'The processor time of a program is limited: use a faster way, or less data.'
  if (exitCode === 153 || /File size limit exceeded|File too large|No space left/.test(output))
    return 'The size of files is limited: write less.'
  if (/Read-only file system|Permission denied|Operation not permitted/.test(output))
    return 'Only the current folder and /tmp can be written, and there are no other rights.'
  return 'Read the message, correct what it names, and try again with a changed call.'
}
