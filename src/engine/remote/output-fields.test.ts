import { expect, test } from 'vitest'
import { outputFields } from './output-fields.ts'
import { profiles } from './profiles.ts'

test('what a schema is called and what it is for are passed on', () => {
  const output = { type: 'json-schema', name: 'n', description: 'd', schema: {}, strict: false } as const
  expect(outputFields({ output }, profiles.openai).fields).toMatchObject({
    response_format: { json_schema: { name: 'n', description: 'd', schema: {} } },
  })
})
