/** Shows the progress of a long operation. */
type Progress = {
  /** Shows the share that is done, or the amount while the total is unknown. */
  update(label: string, doneBytes: number, totalBytes: number | undefined): void
  /** Writes a permanent line above the bar. */
  note(line: string): void
  /** Removes the bar. */
  end(): void
}

const redrawMs = 100
/** Without a terminal, an occasional line is enough. */
const logMs = 5000
const barWidth = 30

/** A progress bar on a terminal; elsewhere a line every few seconds. */
export function createProgress(stream: { write(text: string): unknown; readonly isTTY?: boolean }): Progress {
  const interactive = stream.isTTY === true
  let drawnMs = Number.NEGATIVE_INFINITY
  let shown = false
  const clear = () => {
    if (shown) stream.write('\r\u001B[2K')
    shown = false
  }
  return {
    update(label, doneBytes, totalBytes) {
      const nowMs = performance.now()
      const finished = totalBytes !== undefined && doneBytes >= totalBytes
      if (!finished && nowMs - drawnMs < (interactive ? redrawMs : logMs)) return
      drawnMs = nowMs
      const line = formatProgress(label, doneBytes, totalBytes)
      if (interactive) stream.write(`\r\u001B[2K${line}`)
      else stream.write(`${line}\n`)
      shown = interactive
    },
    note(line) {
      clear()
      stream.write(`${line}\n`)
    },
    end: clear,
  }
}

/** One line such as `model.gguf [#####-----] 50% of 98.4 MB`. */
function formatProgress(label: string, doneBytes: number, totalBytes: number | undefined): string {
  if (totalBytes === undefined || totalBytes <= 0) return `${label} ${formatBytes(doneBytes)}`
  const share = Math.min(1, doneBytes / totalBytes)
  const filled = Math.round(share * barWidth)
  return `${label} [${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${Math.floor(share * 100)}% of ${formatBytes(totalBytes)}`
}

/** Decimal units, as disks and downloads are labelled. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}
