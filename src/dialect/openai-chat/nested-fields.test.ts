import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** The product files of this dialect that read requests. */
const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !/^(encode|replies)/.test(name))
  .map((name) => ({ name, text: readFileSync(new URL(name, import.meta.url), 'utf8') }))

test.each([
  ['detail', 'decode-media.ts'],
  ['filename', 'decode-media.ts'],
  ['start_index', 'decode-messages.ts'],
  ['tool_call_id', 'decode-messages.ts'],
  ['reasoning_content', 'decode-messages.ts'],
])('%s of a message is in the schema and in %s only: its check and its name in errors follow from these', (field, decoder) => {
  const word = new RegExp(`\\b${field}\\b`)
  const places = files.filter(({ text }) => word.test(text)).map(({ name }) => name)
  expect(places).toEqual([decoder, 'message-schema.ts'])
})
