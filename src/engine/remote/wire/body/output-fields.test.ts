import { expect, test } from 'vitest'
import { profiles } from '../../servers/profiles.ts'
import { outputFields } from './output-fields.ts'

test('the name and description of a schema are passed on', () => {
  const output = { type: 'json-schema', name: 'n', description: 'd', schema: {}, strict: false } as const
  expect(outputFields({ output }, profiles.openai).fields).toMatchObject({
    response_format: { json_schema: { name: 'n', description: 'd', schema: {} } },
  })
})
