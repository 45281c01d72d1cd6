import { isObject } from '../../base/json.ts'
import { decodeUri } from '../../base/text/decode-uri.ts'

const hidden = '***'

/** Headers whose values are secrets, including longer names that contain these. */
const secretHeader = /auth|cookie|api-?key|admin-?key|private-?key|token|secret|password|credential|provider-data/i
/** Fields and URL parameters whose values are secrets, in lower case and without `-` and `_`. */
const secretField =
  /^(authorization(token)?|bearer|((hf|access|refresh|auth|bearer|id|api|session|security)?token)|x.*key|(api|access|private|secret)key|(client)?secret|password|passphrase|credentials?)$/
const secretParameter = /^(key|sig|signature|xamz(signature|credential|securitytoken)|xgoog(signature|credential))$/
const url = /[a-z][a-z\d+.-]{0,20}:\/\/[^\s"'<>`]+/gi

export function redactHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (value === undefined) return []
      return [[name, secretHeader.test(name) ? hidden : redactText(String(value))]]
    }),
  )
}

/** A URL without secrets in its query. */
export function redactUrl(text: string): string {
  return text.replace(/([?&#])([^=?&#]*)=[^&#]*/g, (parameter, before: string, name: string) => {
    const plain = normalized(decodeUri(name))
    return secretField.test(plain) || secretParameter.test(plain) ? `${before}${name}=${hidden}` : parameter
  })
}

/** A body without secrets: without the values of secret fields, and of those in URLs in its texts. */
export function redactBody(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value)
  if (Array.isArray(value)) return value.map(redactBody)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      // Headers for an MCP server.
      if (name === 'headers' && typeof one === 'object' && one !== null) return [name, redactBody(redactHeaders({ ...one }))]
      // The arguments of a tool only describe their values.
      if (name === 'properties' && isObject(one)) return [name, mapValues(one, redactBody)]
      return [name, secretField.test(normalized(name)) ? withoutTexts(one) : redactBody(one)]
    }),
  )
}

function withoutTexts(value: unknown): unknown {
  if (typeof value === 'string') return value === '' ? '' : hidden
  if (Array.isArray(value)) return value.map(withoutTexts)
  return isObject(value) ? mapValues(value, withoutTexts) : value
}

function redactText(text: string): string {
  return text.replace(/(:\/\/[^\s/:@]{1,200}):[^\s/@]{1,200}@/g, `$1:${hidden}@`).replace(url, redactUrl)
}

function normalized(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}

function mapValues(value: Readonly<Record<string, unknown>>, map: (one: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, map(one)]))
}
