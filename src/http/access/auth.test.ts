import { describe, expect, test } from 'vitest'
import { hashApiKey } from '../../app/keys/made-keys.ts'
import { type ApiKey, allScopes, type Principal } from '../../contract/principal.ts'
import { authorize, createAuthenticator, type KeyRules } from './auth.ts'

const key = 'sk-dragoman-key'
const other = 'sk-dragoman-other'

/** Of rules that know all keys at once. */
function identify(rules: KeyRules, wallClock?: () => number) {
  const authenticate = createAuthenticator(rules, wallClock)
  return (headers: Parameters<typeof authenticate>[0]): Principal => {
    const found = authenticate(headers)
    if (found instanceof Promise) throw new Error('it looks again')
    return found
  }
}

describe('reading keys from headers', () => {
  test.each([
    [{ authorization: 'Bearer a' }, ['a']],
    [{ authorization: 'bearer   a ' }, ['a']],
    [{ authorization: 'a' }, ['a']],
    [{ authorization: 'Basic a' }, []],
    [{ 'x-api-key': 'b' }, ['b']],
    [{ authorization: 'Bearer a', 'x-api-key': 'b' }, ['a', 'b']],
    [{ authorization: 'Basic YTpi' }, []],
    [{ authorization: 'Bearer' }, []],
    [{ authorization: 'Bearer a b' }, []],
    [{ 'x-api-key': '' }, []],
    [{}, []],
  ])('%j holds %j', (headers, keys) => {
    const isAccepted = (key: string) => {
      try {
        return identify({ apiKeys: [{ hash: hashApiKey(key), scopes: allScopes }] })(headers).id !== ''
      } catch {
        return false
      }
    }
    expect(['a', 'b', 'a b', ''].filter(isAccepted)).toEqual(keys)
  })
})

describe('authentication', () => {
  const authenticate = identify({
    apiKeys: [
      { hash: hashApiKey(other), scopes: allScopes },
      { hash: hashApiKey(key).toUpperCase(), scopes: allScopes },
    ],
  })

  test('a key is accepted in either header, also beside a placeholder', () => {
    const id = `key-${hashApiKey(key).slice(0, 8).toUpperCase()}`
    expect(authenticate({ authorization: `Bearer ${key}` }).id).toBe(id)
    expect(authenticate({ 'x-api-key': key }).id).toBe(id)
    expect(authenticate({ authorization: 'Bearer unused', 'x-api-key': key }).id).toBe(id)
  })

  test.each([
    [{}, 'no API key was sent'],
    [{ authorization: 'Bearer wrong' }, 'the API key is not valid'],
    [{ authorization: `Bearer ${hashApiKey(key)}` }, 'the API key is not valid'],
  ])('%j is refused, and the message says how to send a key', (headers, problem) => {
    expect(() => authenticate(headers)).toThrow(
      expect.objectContaining({
        code: 'unauthorized',
        message: expect.stringMatching(`${problem}.*authorization: Bearer KEY.*x-api-key`),
      }),
    )
  })

  test('without keys, every caller has all scopes', () => {
    const anyone = identify({ apiKeys: [] })({})
    expect(() => authorize(anyone, 'admin')).not.toThrow()
  })

  test('a key is never taken for callers without one, nor for a key without a name, whatever it is called', () => {
    for (const name of ['anyone', `key-${hashApiKey(other).slice(0, 8)}`]) {
      const named = identify({ apiKeys: [{ hash: hashApiKey(key), name, scopes: allScopes }] })
      expect(named({ 'x-api-key': key }).id).toBe(`key-${hashApiKey(key).slice(0, 8)}`)
    }
  })

  test('an invalid hash throws at start', () => {
    expect(() => identify({ apiKeys: [{ hash: 'sk-dragoman-plain', scopes: allScopes }] })).toThrow(/64 hexadecimal digits/)
  })
})

test('keys that are made while the server runs have their own scopes', () => {
  const made = new Map<string, ApiKey>()
  const authenticate = identify({ apiKeys: [], findKey: (hash) => made.get(hash) })
  const headers = { authorization: `Bearer ${key}` }
  expect(() => authenticate(headers)).toThrow('the API key is not valid')
  made.set(hashApiKey(key), { hash: hashApiKey(key), scopes: new Set(['inference']) })
  expect([...authenticate(headers).scopes]).toEqual(['inference'])
  made.clear()
  expect(() => authenticate(headers)).toThrow('the API key is not valid')
  expect(() => authenticate({})).toThrow('no API key was sent')
})

test('a key that another server has just made is looked for before it is refused', async () => {
  const made = new Map<string, ApiKey>()
  let reads = 0
  const refresh = async () => {
    reads += 1
    if (reads === 1) throw new Error('the store is away')
    made.set(hashApiKey(key), { hash: hashApiKey(key), scopes: allScopes })
  }
  const authenticate = createAuthenticator({ apiKeys: [], findKey: (hash) => made.get(hash), refresh })
  await expect(authenticate({ 'x-api-key': key })).rejects.toThrow('the API key is not valid')
  expect(await authenticate({ 'x-api-key': key })).toMatchObject({ scopes: allScopes })
  expect(authenticate({ 'x-api-key': key })).toMatchObject({ scopes: allScopes })
  await expect(authenticate({ 'x-api-key': other })).rejects.toThrow('the API key is not valid')
  expect(() => authenticate({})).toThrow('no API key was sent')
  expect(reads).toBe(3)
})

test('a key works until it expires, and the refusal then says so', () => {
  let nowMs = 999
  const apiKey = { hash: hashApiKey(key), scopes: allScopes, expiresAtMs: 1000 }
  const configured = identify({ apiKeys: [apiKey] }, () => nowMs)
  const made = identify({ apiKeys: [], findKey: () => apiKey }, () => nowMs)
  for (const authenticate of [configured, made]) {
    nowMs = 999
    expect(() => authenticate({ 'x-api-key': key })).not.toThrow()
    nowMs = 1000
    expect(() => authenticate({ 'x-api-key': key })).toThrow('the API key has expired')
  }
})

test('a key has its own name and scopes', () => {
  const keys = [{ hash: hashApiKey(key), name: 'monitoring', scopes: new Set(['metrics'] as const) }]
  const principal = identify({ apiKeys: keys })({ 'x-api-key': key })
  expect(principal.id).toBe('monitoring')
  expect(() => authorize(principal, 'metrics')).not.toThrow()
  expect(() => authorize(principal, 'inference')).toThrow(/lacks the scope 'inference'/)
})

test('the scope admin includes the others', () => {
  const principal = { id: 'k', scopes: new Set(['admin'] as const) }
  for (const scope of ['inference', 'metrics', 'admin'] as const) expect(() => authorize(principal, scope)).not.toThrow()
})

test('a missing scope is forbidden by name', () => {
  const principal = { id: 'k', scopes: new Set(['inference'] as const) }
  expect(() => authorize(principal, 'inference')).not.toThrow()
  expect(() => authorize(principal, 'admin')).toThrow(
    expect.objectContaining({ code: 'forbidden', message: expect.stringContaining("'admin'") }),
  )
})
