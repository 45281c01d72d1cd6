import type { Timings } from '../contract/event.ts'

/** Proxies give up on headers that are much longer. */
const maxIgnoredChars = 1024

const timingNames: Readonly<Record<keyof Timings, string>> = {
  queueMs: 'queue',
  loadMs: 'load',
  templateMs: 'template',
  prefillMs: 'prefill',
  firstTokenMs: 'ttft',
  decodeMs: 'decode',
}

/** The value of `x-dragoman-ignored`: field names and paths, percent-encoded where need be; `...` at the end when there are more. */
export function encodeIgnored(fields: readonly string[]): string {
  let value = ''
  for (const field of fields) {
    // A name of megabytes is too long however it is encoded.
    const next = (value === '' ? '' : ', ') + encodeToken(field.slice(0, maxIgnoredChars + 1))
    if (value.length + next.length > maxIgnoredChars) return value === '' ? '...' : `${value}, ...`
    value += next
  }
  return value
}

/** The value of `server-timing`: where the time went, as far as the engine knows. */
export function encodeServerTiming(timings: Timings): string {
  return Object.entries(timingNames)
    .flatMap(([key, name]) => {
      const durationMs = timings[key as keyof Timings]
      return durationMs === undefined ? [] : [`${name};dur=${durationMs}`]
    })
    .join(', ')
}

function encodeToken(text: string): string {
  return text.replace(/[^!#$&'*+\-.[\]^_`|~\w]/gu, (char) =>
    Buffer.from(char).toString('hex').toUpperCase().replace(/../g, '%$&'),
  )
}
