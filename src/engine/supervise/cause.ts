const quotedLines = 3
/** Output of llama-server's own memory estimate, before the actual load. */
const memoryEstimate = /common_fit_params/
const informativeLine = /error|fail|invalid|unsupported|unknown|not found|cannot|couldn't|out of memory/i

/** The reason that a process wrote before it ended, from its last lines; empty without one. */
export function causeOf(lines: readonly string[]): string {
  const errors = lines.filter((line) => /^[\d.]+ E /.test(line) && !memoryEstimate.test(line))
  const candidates = errors.length > 0 ? errors : lines.filter((line) => informativeLine.test(line) && !memoryEstimate.test(line))
  const chosen = candidates.length > 0 ? candidates.slice(0, quotedLines) : lines.slice(-quotedLines)
  const quoted = chosen.map(withoutPrefix).join(' | ')
  return /CUDA error/.test(quoted) ? `${quoted}; docs/gpu.md says what to do about errors of CUDA` : quoted
}

/** Without the time, the level and the source's name, and without the folder where llama.cpp was compiled. */
function withoutPrefix(line: string): string {
  return line
    .replace(/^[\d.]+ [DIWE] (?:srv|cmn|slot)?\s*/, '')
    .replace(/^\S*\/(?=[\w.-]+\.(?:cu|cuh|cpp|c|h):\d+: )/, '')
    .trim()
}
