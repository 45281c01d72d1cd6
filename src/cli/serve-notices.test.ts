import { expect, test } from 'vitest'
import { isToy, type KeyFacts, keyNotice, pageNotice, serverTable, toyNotice, tryItNotice } from './serve-notices.ts'

const model = {
  id: 'm',
  aliases: ['default'],
  createdAtMs: 0,
  state: { type: 'ready' },
  loadsAtStart: true,
  isAwaited: false,
  isRequired: 'yes',
} as const

test.each<[string, KeyFacts, string[]]>([
  [
    'no key',
    { createdKey: undefined, source: 'none' },
    [`  curl -N URL/v1/chat/completions -H 'content-type: application/json' \\`],
  ],
  [
    'a key that was just made',
    { createdKey: 'sk-1', source: 'file' },
    [`  curl -N URL/v1/chat/completions -H 'content-type: application/json' -H 'authorization: Bearer sk-1' \\`],
  ],
  [
    'a key that was made earlier',
    { createdKey: undefined, source: 'file' },
    [
      '  # your key, or another one:',
      '  export DRAGOMAN_API_KEY="$(dragoman keys new)"',
      `  curl -N URL/v1/chat/completions -H 'content-type: application/json' -H "authorization: Bearer $DRAGOMAN_API_KEY" \\`,
    ],
  ],
  [
    'a configured key',
    { createdKey: undefined, source: 'config' },
    [
      '  # DRAGOMAN_API_KEY must be a key of this server: one of server.apiKeys',
      `  curl -N URL/v1/chat/completions -H 'content-type: application/json' -H "authorization: Bearer $DRAGOMAN_API_KEY" \\`,
    ],
  ],
])('with %s, the printed request works as it is', (_, key, lines) => {
  const notice = tryItNotice('http://0.0.0.0:1', model, key)
  const body = `    -d '{"model":"default","stream":true,"messages":[{"role":"user","content":"Say hello."}]}'`
  const expected = ['', 'm is ready. Try it:', '', ...lines, body, '']
  expect(notice.split('\n')).toEqual(expected.map((line) => line.replace('URL', 'http://127.0.0.1:1')))
})

test('the page is where this machine reaches the server', () => {
  expect(pageNotice('http://0.0.0.0:1/llm')).toBe('Or chat in a browser: http://127.0.0.1:1/llm/\n')
})

test('the notice of a new key says how to get another', () => {
  expect(keyNotice('sk-1')).toMatch(/^ {2}sk-1$[\s\S]*`dragoman keys new` makes another/m)
})

test.each([
  ['smollm2-135m-instruct', 16e9, /a toy of 135 million.*Qwen3 8B \(about 5\.0 GB\):\n {2}dragoman serve --model qwen3:8b$/],
  ['dragoman-tiny', 1e9, /a toy of 4 million.*Serve another one with --model\.$/],
])('%s is called a toy, and a better model for this machine is named', (id, memoryBytes, text) => {
  expect(toyNotice(id, { memoryBytes, cores: 64 })).toMatch(text)
})

test('other models are not called toys', () => {
  expect(['dragoman-tiny', 'my-model'].map(isToy)).toEqual([true, false])
})

test('the table of a server has its address, its keys, and the state, the context and the other names of each model', () => {
  const other = { ...model, id: 'other', aliases: [], state: { type: 'stopped' }, contextLength: 4096 } as const
  const table = (key: KeyFacts) => serverTable('http://0.0.0.0:1', [model, other], key).split('\n')
  expect(table({ createdKey: undefined, source: 'none' })).toEqual([
    '',
    'address  http://127.0.0.1:1, for clients of OpenAI http://127.0.0.1:1/v1',
    'keys     none is asked for',
    '',
    'MODEL  STATE    CONTEXT  ALSO CALLED',
    'm      ready    -        default',
    'other  stopped  4096',
  ])
  expect(table({ createdKey: 'sk-1', source: 'file' })[2]).toBe('keys     the one above')
  expect(table({ createdKey: undefined, source: 'file' })[2]).toBe('keys     dragoman keys list')
  expect(table({ createdKey: undefined, source: 'config' })[2]).toBe('keys     those of the configuration')
})
