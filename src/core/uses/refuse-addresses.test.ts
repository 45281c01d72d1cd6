import { expect, test } from 'vitest'
import { refuseAddresses } from './refuse-addresses.ts'

const json = (fields: Readonly<Record<string, unknown>>) => () => refuseAddresses({ type: 'json', fields })
const form = (name: string, value: string) => () => refuseAddresses({ type: 'form', parts: [{ name, value }] })

let nested: unknown = 'http://10.0.0.1/'
for (let depth = 0; depth < 20_000; depth += 1) nested = [nested]

test.each<[string, () => void]>([
  ['ref_audio', json({ input: 'Hello.', ref_audio: 'https://x.example/a.wav' })],
  ['image', json({ prompt: 'a cat', image: ['data:image/png;base64,AAAA', 'HTTP://169.254.169.254/'] })],
  ['extra', json({ extra: { deep: [{ path: ' file:/etc/passwd' }] } })],
  ['deep', json({ deep: nested })],
  ['url', form('url', 'gopher://127.0.0.1:70/')],
  ['ref', form('ref', 'FILE:/etc/passwd')],
  ['options', form('options', '{"image":"ftp://x/y"}')],
])('an address in %s is refused', (name, refuse) => {
  expect(refuse).toThrow(expect.objectContaining({ code: 'unsupported-field', param: name }))
  expect(refuse).toThrow(`'${name}' holds a URL`)
})

test.each<[string, () => void]>([
  ['texts that are spoken or drawn', json({ input: 'See https://x.example/.', prompt: 'http://x', instructions: 'file:x' })],
  ['data', json({ image: 'data:image/png;base64,AAAA//8=', sound: '//uQxAAA', voice: 'alloy', speed: 1.5, none: null })],
  ['names and numbers', form('timestamp_granularities[]', 'word')],
  ['times and sizes', form('range', '00:01/00:02')],
])('%s go along', (_, refuse) => {
  expect(refuse).not.toThrow()
})
