import { printable, printableLines } from '../../app/log/printable.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'

/** A terminal or its substitute; `columns` may change while it is open. */
type ProgressStream = { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number }

/** Shows the progress of a long operation, in one line below everything else that is written through it. */
export type Progress = {
  /** Shows the completed share, or the amount while the total is unknown. */
  update(label: string, doneBytes: number, totalBytes: number | undefined): void
  /** Writes a permanent line above the bar. */
  note(line: string): void
  /** Writes complete lines of the log above the bar. */
  write(text: string): void
  /** Removes the bar. */
  end(): void
}

/** Speed is measured over this time: long enough to be calm, short enough to follow the network. */
const speedWindowMs = 5000
const redrawMs = 100
/** Without a terminal, an occasional line is enough. */
const logMs = 5000
const widestBar = 30
const narrowestBar = 10
const shortestLabel = 12
const assumedColumns = 80

/** A progress bar on a terminal; elsewhere a line every few seconds. */
export function createProgress(
  stream: ProgressStream,
  now: () => number = () => performance.now(),
  format: (amount: number) => string = formatBytes,
): Progress {
  const interactive = stream.isTTY === true
  let drawnMs = Number.NEGATIVE_INFINITY
  let shown: string | undefined
  let speed = createSpeedometer()
  let label: string | undefined
  let written: string | undefined
  const clear = () => {
    if (shown !== undefined) stream.write('\r\u001B[2K')
  }
  const write = (text: string) => {
    clear()
    stream.write(text)
    if (shown !== undefined) stream.write(shown)
  }
  return {
    update(given, doneBytes, totalBytes) {
      // Names of files and models come from outside.
      const name = printable(given)
      const nowMs = now()
      if (name !== label) speed = createSpeedometer()
      label = name
      speed.add(nowMs, doneBytes)
      const isDone = totalBytes !== undefined && doneBytes >= totalBytes
      if (!isDone && nowMs - drawnMs < (interactive ? redrawMs : logMs)) return
      drawnMs = nowMs
      const facts = { label: name, doneBytes, totalBytes, bytesPerSecond: isDone ? undefined : speed.bytesPerSecond(), format }
      if (!interactive) {
        const line = `${formatProgress(facts, Number.POSITIVE_INFINITY)}\n`
        // A load stays at its end for a while: once is enough.
        if (line !== written) stream.write(line)
        written = line
        return
      }
      clear()
      // The last column stays empty: some terminals wrap when it is filled.
      shown = formatProgress(facts, (stream.columns ?? assumedColumns) - 1)
      stream.write(shown)
    },
    note: (line) => write(`${printableLines(line)}\n`),
    write,
    end() {
      clear()
      shown = undefined
    },
  }
}

function createSpeedometer() {
  const samples: { atMs: number; doneBytes: number }[] = []
  return {
    add(atMs: number, doneBytes: number): void {
      samples.push({ atMs, doneBytes })
      // One sample older than the window stays: a slow transfer may have no other.
      while (samples.length > 2 && atMs - (samples[1]?.atMs ?? 0) >= speedWindowMs) samples.shift()
    },
    /** Undefined until it can be measured. */
    bytesPerSecond(): number | undefined {
      const first = samples[0]
      const last = samples.at(-1)
      if (first === undefined || last === undefined || last.atMs - first.atMs < 500) return undefined
      return ((last.doneBytes - first.doneBytes) * 1000) / (last.atMs - first.atMs)
    },
  }
}

type ProgressFacts = {
  readonly label: string
  readonly doneBytes: number
  readonly totalBytes: number | undefined
  readonly bytesPerSecond: number | undefined
  /** Writes an amount; absent: of bytes. */
  readonly format?: (amount: number) => string
}

/** One line of at most `width` characters, such as `model.gguf [#####-----] 50% of 98.4 MB, 9.8 MB/s, 5 s left`. */
export function formatProgress(facts: ProgressFacts, width: number): string {
  const { label, doneBytes, totalBytes, bytesPerSecond, format = formatBytes } = facts
  const speed = bytesPerSecond === undefined ? '' : `, ${format(Math.round(bytesPerSecond))}/s`
  if (totalBytes === undefined || totalBytes <= 0) return joinWithin(label, ` ${format(doneBytes)}${speed}`, width)
  const share = Math.min(1, doneBytes / totalBytes)
  const isMoving = bytesPerSecond !== undefined && bytesPerSecond > 0
  const left = isMoving ? `, ${formatSeconds((totalBytes - doneBytes) / bytesPerSecond)} left` : ''
  const tail = `${Math.floor(share * 100)}% of ${format(totalBytes)}${speed}${left}`
  const aroundBar = ' [] '.length + tail.length
  const longestLabel = width - aroundBar - narrowestBar
  if (longestLabel < Math.min(shortestLabel, label.length)) return joinWithin(label, ` ${tail}`, width)
  const name = shorten(label, longestLabel)
  const barWidth = Math.min(widestBar, width - aroundBar - name.length)
  const filled = Math.round(share * barWidth)
  return `${name} [${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${tail}`
}

/** The label is shortened before the figures, which are truncated on a narrow terminal. */
function joinWithin(label: string, tail: string, width: number): string {
  return `${shorten(label, width - tail.length)}${tail}`.slice(0, Math.max(0, width))
}

/** Cuts the middle: the names of models differ at both ends. */
function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  if (length < 3) return text.slice(0, Math.max(0, length))
  const end = Math.floor((length - 1) / 2)
  return `${text.slice(0, length - 1 - end)}…${text.slice(text.length - end)}`
}

function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.round(whole / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
