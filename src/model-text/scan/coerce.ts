import type { JsonType } from './schema-types.ts'

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The JSON of a text that is an allowed number, boolean or null; undefined for any other text. */
export function coerceScalar(text: string, types: ReadonlySet<JsonType>): string | undefined {
  if ((types.has('number') || types.has('integer')) && jsonNumber.test(text)) return text
  if (types.has('boolean') && /^(?:true|false)$/i.test(text)) return text.toLowerCase()
  if (types.has('null') && /^(?:null|none)$/i.test(text)) return 'null'
  return undefined
}

/** The JSON of an unquoted word inside JSON; undefined when it is not a literal of JSON or Python. */
export function coerceToken(token: string, types: ReadonlySet<JsonType> | undefined): string | undefined {
  const textWanted = types?.has('string') === true
  if (jsonNumber.test(token)) {
    return textWanted && !types.has('number') && !types.has('integer') ? JSON.stringify(token) : token
  }
  if (token === 'null' || token === 'None') return 'null'
  if (token === 'true' || token === 'True' || token === 'false' || token === 'False') {
    const literal = token.toLowerCase()
    return textWanted && !types.has('boolean') ? JSON.stringify(literal) : literal
  }
  return undefined
}
