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

test('requests follow their prompts, unless that is off', () => {
  expect(remoteModel.parse(model).affinity).toEqual({ bound: 1.5 })
  expect(remoteModel.parse({ ...model, affinity: { bound: 2 } }).affinity).toEqual({ bound: 2 })
  expect(remoteModel.parse({ ...model, affinity: 'off' }).affinity).toBe('off')
})

test.each([['on'], [true]])('affinity: %j is refused with what it may be', (affinity) => {
  expect(remoteModel.safeParse({ ...model, affinity }).error?.issues).toMatchObject([
    { message: 'must be `off`, or an object with `bound` (from 1 to 100)' },
  ])
})

test.each([
  [{ bound: 0.5 }, ['affinity', 'bound']],
  [{ bond: 2 }, ['affinity']],
])('affinity: %j is refused', (affinity, path) => {
  expect(remoteModel.safeParse({ ...model, affinity }).error?.issues).toMatchObject([{ path }])
})
