import { expect, test } from 'vitest'
import { remoteModel } from './remote-schema.ts'

const model = { engine: 'remote', id: 'm', endpoints: [{ url: 'http://10.0.0.1/v1' }] }

test.each(['chatTemplate', 'addsBos'])('%s without the protocol that it belongs to is a mistake', (name) => {
  const value = name === 'addsBos' ? true : 'a.jinja'
  expect(remoteModel.safeParse({ ...model, [name]: value }).error?.issues).toMatchObject([
    { path: [name], message: expect.stringContaining('protocol: completions') },
  ])
  expect(remoteModel.safeParse({ ...model, [name]: value, protocol: 'completions' }).success).toBe(true)
})

test.each(['chat', 'responses', 'messages', 'completions', 'auto'])('protocol: %s', (protocol) => {
  expect(remoteModel.parse({ ...model, protocol })).toMatchObject({ protocol })
})
