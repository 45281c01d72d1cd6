import type { Recording } from '../recording.ts'

/** What of a machine must not be in a recording, and what stands there instead. */
export type Names = Readonly<Record<string, string>>

/** Headers that differ by connection or by trace, and that no server can depend on. */
const dropped = new Set(
  ['host', 'connection', 'content-length', 'accept-encoding', 'accept-language', 'transfer-encoding', 'keep-alive'].concat([
    'sec-fetch-mode',
    'traceparent',
    'tracestate',
    'baggage',
    'x-client-request-id',
  ]),
)

/** Longer texts are replaced. */
const maxTextChars = 30
/** Of descriptions only those of our own tools and schemas stay: a client's author wrote the others. */
const ownDescriptions = new Set(['The weather of a city.', 'A place.', 'Says it'])
/** A longer text is as long as this, and says how long it was. */
const maxNeutralChars = 200

/** Values that work as they are or not at all: grammars and patterns. */
const kept = new Set(['grammar', 'pattern', 'regex', 'definition', 'template', 'const'])

/**
 * The same request with neutral texts: what its user and its authors wrote becomes text of the same length, ids become numbers by their
 * order, and names of the machine are replaced. Neutral requests are not changed.
 */
export function neutralRecording(recording: Recording, names: Names = {}): Recording {
  const plain = createPlain(names)
  const headers = Object.entries(recording.headers).flatMap(([name, value]) => (dropped.has(name) ? [] : [[name, plain(value)]]))
  return {
    ...recording,
    path: plain(recording.path),
    headers: Object.fromEntries(headers),
    body: neutralValue(recording.body, { key: '', plain }),
  }
}

type NeutralContext = { readonly key: string; readonly plain: (text: string) => string }

function neutralValue(value: unknown, place: NeutralContext): unknown {
  if (typeof value === 'string') return neutralText(value, place)
  if (Array.isArray(value)) return value.map((item) => neutralValue(item, place))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, neutralValue(item, { ...place, key })]))
}

function neutralText(text: string, { key, plain }: NeutralContext): string {
  if (kept.has(key)) return plain(text)
  if (key === 'arguments') return neutralArguments(text, plain)
  const isForeign = key === 'description' ? !ownDescriptions.has(text) : text.length > maxTextChars
  return isForeign && /\s/.test(text) ? filler(text) : plain(text)
}

/** Arguments of calls are JSON in a string. */
function neutralArguments(text: string, plain: NeutralContext['plain']): string {
  try {
    return JSON.stringify(neutralValue(JSON.parse(text), { key: '', plain }))
  } catch {
    return plain(text)
  }
}

const words = 'This neutral text stands for what was sent, and has its length as long as it is short. '

function filler(text: string): string {
  if (/^\[\d+ characters\] /.test(text) || words.repeat(3).startsWith(text)) return text
  const start = text.length > maxNeutralChars ? `[${text.length} characters] ` : ''
  return (start + words.repeat(3)).slice(0, Math.min(text.length, maxNeutralChars))
}

const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const prefixes = 'call|toolu|fc|fc_call|fco|msg|resp|rs|chatcmpl|cmpl|ctc|ses|prt|req'
const prefixed = new RegExp(
  `\\b(${prefixes})([_-])(?=[A-Za-z0-9]*\\d)[A-Za-z0-9]{8,}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?\\b`,
  'g',
)
const milliseconds = /\b1[5-9]\d{11}\b/g
const hexadecimal = /\b[0-9a-f]{20,}\b/gi

/** Replaces names and ids; equal ids stay equal within a request. */
function createPlain(names: Names): (text: string) => string {
  const ids = new Map<string, string>()
  const numbered = (id: string) => {
    const number = ids.get(id) ?? String(ids.size + 1)
    ids.set(id, number)
    return number
  }
  return (text) => {
    let plain = text
    for (const [name, replacement] of Object.entries(names)) plain = plain.replaceAll(name, replacement)
    return plain
      .replace(prefixed, (id, prefix, dash) => `${prefix}${dash}${numbered(id).padStart(24, '0')}`)
      .replace(uuid, '00000000-0000-0000-0000-000000000000')
      .replace(milliseconds, '1700000000000')
      .replace(hexadecimal, (id) => '0'.repeat(id.length))
  }
}
