/**
 * A place in a canonical request, as steps from its root: `['prompt', 'messages', 3, 'content', 0]` of a `GenerationRequest`,
 * `['texts', 2]` of a `RankRequest`, `['model']` of any.
 */
export type CanonicalPath = readonly (string | number)[]

/** What the caller calls a place; each dialect has its own names. */
export type NameOf = (path: CanonicalPath) => string

const open = '\ue000'
const close = '\ue001'
const placeholder = /\ue000([^\ue000\ue001]*)\ue001/g

/** Stands for a place inside an error message, until the dialect puts the caller's own name there. */
export function field(...path: CanonicalPath): string {
  // A caller's text in a path must neither begin nor end a placeholder.
  const json = JSON.stringify(path).replaceAll(open, '\\ue000').replaceAll(close, '\\ue001')
  return `${open}${json}${close}`
}

/** The place that a text names, if it is a placeholder; what follows it, such as `.properties`, is one more step. */
export function placeOf(text: string): CanonicalPath | undefined {
  const end = text.indexOf(close)
  const path = text.startsWith(open) && end !== -1 ? parsePath(text.slice(1, end)) : undefined
  const rest = text.slice(end + 1).replace(/^\./, '')
  return path === undefined || rest === '' ? path : [...path, rest]
}

/** A message with its placeholders filled in. */
export function fillFields(message: string, nameOf: NameOf): string {
  if (!message.includes(open)) return message
  return message.replace(placeholder, (whole, json: string) => {
    const path = parsePath(json)
    // A caller's text may hold such characters, and nothing else may be made of it.
    return path === undefined ? whole : nameOf(path)
  })
}

/** A path as text: `prompt.messages[3].content[0]`. */
export function formatPath(path: CanonicalPath): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
}

function parsePath(json: string): CanonicalPath | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return Array.isArray(value) && value.every((step) => typeof step === 'string' || typeof step === 'number') ? value : undefined
  } catch {
    return undefined
  }
}
