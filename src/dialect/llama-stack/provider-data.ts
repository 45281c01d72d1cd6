import { isObject } from '../../base/json.ts'
import { CallerKeys } from '../../contract/caller-keys.ts'
import type { CallInput, DecodedCall, Dialect } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { CanonicalPath, NameOf } from '../../contract/field.ts'
import { keyPattern } from '../wire/access-key.ts'

/** The header with the caller's keys for providers, as JSON. */
export const providerDataHeader = 'x-llamastack-provider-data'

/** The header: keys, if any, and fields that mean nothing here. */
type ProviderData = { readonly callerKeys?: CallerKeys; readonly ignored: readonly string[] }

const keyName = /^(\w+)_api_(?:key|token)$/

/**
 * Reads the keys of `x-llamastack-provider-data`: `together_api_key` is the key of `together`, and `vllm_api_token` that of `vllm`. Throws
 * `invalid-request`, without quoting a value, for anything but a JSON object whose keys are strings.
 */
export function readProviderData(headers: CallInput['headers']): ProviderData {
  const header = headers[providerDataHeader]
  if (header === undefined) return { ignored: [] }
  const keys = new Map<string, string>()
  const ignored: string[] = []
  for (const [name, value] of Object.entries(parseHeader(header))) {
    const provider = keyName.exec(name)?.[1]
    if (value === null || value === '') continue
    if (provider === undefined) ignored.push(`${providerDataHeader}.${name}`)
    else if (typeof value === 'string' && keyPattern.test(value)) keys.set(provider, value)
    else throw invalid(`${providerDataHeader}.${name}`, 'is not a key: expected a string of visible ASCII characters')
  }
  return { ignored, ...(keys.size > 0 && { callerKeys: new CallerKeys(keys) }) }
}

/** Adds the caller's keys for the servers behind a model to a protocol. */
export function withProviderData(dialect: Dialect): Dialect {
  return {
    ...dialect,
    decode(input, context) {
      const data = readProviderData(input.headers)
      const decoding = dialect.decode(input, context)
      return decoding instanceof Promise ? decoding.then((call) => withKeys(call, data)) : withKeys(decoding, data)
    },
  }
}

/** The caller's name for a path of a request with keys. */
export function nameWithKeys(nameOf: NameOf): NameOf {
  return (path: CanonicalPath) => (path[0] === 'callerKeys' ? providerDataHeader : nameOf(path))
}

function withKeys(call: DecodedCall, { callerKeys, ignored }: ProviderData): DecodedCall {
  if (callerKeys === undefined && ignored.length === 0) return call
  const [first, ...rest] = call.requests
  return {
    ...call,
    ignored: [...call.ignored, ...ignored],
    nameOf: nameWithKeys(call.nameOf),
    ...(callerKeys !== undefined && {
      requests: [{ ...first, callerKeys }, ...rest.map((request) => ({ ...request, callerKeys }))],
    }),
  }
}

/** Without the parser's message, which quotes the text. */
function parseHeader(header: string | readonly string[]): object {
  const text = typeof header === 'string' ? header : ''
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid(providerDataHeader, 'is not JSON: expected an object such as {"openai_api_key": "…"}')
  }
  if (isObject(value)) return value
  throw invalid(providerDataHeader, 'is not a JSON object: expected one such as {"openai_api_key": "…"}')
}

function invalid(param: string, problem: string): AppError {
  return new AppError('invalid-request', `${param} ${problem}`, { param })
}
