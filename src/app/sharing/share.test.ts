import { pino } from 'pino'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { shareOver, startPrimary } from '../../../test/support/process/primary.ts'
import { AppError } from '../../contract/errors.ts'
import type { Carrier, Topic } from '../../contract/server/shared.ts'
import { share } from './share.ts'

const topic: Topic<object, string> = { name: 'sums', message: z.object({}), answer: z.string() }

test('a message goes over all carriers; one that fails is logged, and the answers of the others count', async () => {
  const [database, server] = [startPrimary(), startPrimary()]
  const logged: string[] = []
  const log = pino({}, { write: (line) => void logged.push(JSON.parse(line).msg) })
  const away = { ...database().primary, publish: () => Promise.reject(new AppError('store-unavailable', 'away')) }
  const { primary } = server()
  const sender = share([away, primary], log)
  await shareOver(server().primary).subscribe(topic, () => 'near')
  await shareOver(database().primary).subscribe(topic, () => 'far')
  expect(await sender?.publish(topic, {})).toEqual(['near'])
  expect(logged).toEqual(['a message did not reach other processes'])
  expect(await share([database().primary, primary], log)?.publish(topic, {})).toEqual(['far', 'near'])
})

test('a document is with the first carrier, and a change of it known over the others when it is done', async () => {
  const [database, server] = [startPrimary(), startPrimary()]
  /** As with PostgreSQL, whose notifications come later. */
  const mute = (carrier: Carrier): Carrier => ({ ...carrier, publish: async () => [] })
  const [here, there] = [1, 2].map(() => shareOver(mute(database().primary), server().primary))
  const known: unknown[] = []
  await there?.documents.watch('one', (json) => known.push(json))
  await here?.documents.change('one', () => 1)
  expect(known).toEqual([1])
  expect(await database().primary.documents.read('one', 0)).toMatchObject({ json: 1 })
  expect(await server().primary.documents.read('one', 0)).toBeUndefined()
})

test('without a carrier, nothing is shared', () => {
  expect(share([undefined], pino({ level: 'silent' }))).toBeUndefined()
})
