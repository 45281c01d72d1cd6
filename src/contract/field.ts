import { parseJson } from '../base/json.ts'

/**
 * A path in a canonical request: `['prompt', 'messages', 3, 'content', 0]` of a `GenerationRequest`, `['texts', 2]` of a
 * `RankRequest`, `['model']` of any.
 */
export type CanonicalPath = readonly (string | number)[]

/** The caller's name for a path, in the words of its dialect. */
export type NameOf = (path: CanonicalPath) => string

const open = '\ue000'
const close = '\ue001'
const placeholder = /\ue000([^\ue000\ue001]*)\ue001/g

/** A placeholder for a path in an error message; the dialect fills in the caller's name. */
export function field(...path: CanonicalPath): string {
  // A caller's text in a path must not open or close a placeholder.
  const json = JSON.stringify(path).replaceAll(open, '\\ue000').replaceAll(close, '\\ue001')
  return `${open}${json}${close}`
}

/** The path of a placeholder; text after it, such as `.properties`, is one more step. Undefined for other texts. */
export function pathOf(text: string): CanonicalPath | undefined {
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
    // A caller's text that happens to contain these characters stays unchanged.
    return path === undefined ? whole : nameOf(path)
  })
}

/** A path as text: `prompt.messages[3].content[0]`. */
export function formatPath(path: CanonicalPath): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
}

function parsePath(json: string): CanonicalPath | undefined {
  const value = parseJson(json)
  return Array.isArray(value) && value.every((step) => typeof step === 'string' || typeof step === 'number') ? value : undefined
}
