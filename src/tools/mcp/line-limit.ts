const maxLines = 100
const minuteMs = 60_000

/** Passes on the first lines of each minute, and then says that there are more. */
export function limitLines(onLine: (line: string) => void, now: () => number): (line: string) => void {
  let beganAtMs = Number.NEGATIVE_INFINITY
  let count = 0
  return (line) => {
    if (now() - beganAtMs >= minuteMs) {
      beganAtMs = now()
      count = 0
    }
    count += 1
    if (count <= maxLines) onLine(line)
    else if (count === maxLines + 1) onLine(`(more than ${maxLines} lines: the others of this minute are not shown)`)
  }
}
