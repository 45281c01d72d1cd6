import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeShared } from '../../test/shared-contract.ts'
import { shareOver, startPrimary } from '../../test/support/process/primary.ts'
import type { Topic } from '../contract/server/shared.ts'

describeShared('the primary process', async () => {
  const join = startPrimary()
  return [shareOver(join().primary), shareOver(join().primary), shareOver(join().primary)]
})

const sum: Topic<{ readonly of: number }, number> = { name: 'sum', message: z.object({ of: z.number() }), answer: z.number() }

test('a message is answered by each listener that has an answer; a process that fails or has ended is left out', async () => {
  const join = startPrimary()
  const one = shareOver(join().primary)
  const listen = async (answer: (of: number) => number | undefined) => {
    const { primary, end } = join()
    await shareOver(primary).subscribe(sum, ({ of }) => answer(of))
    return { end, primary }
  }
  const { primary } = await listen((of) => of + 1)
  await shareOver(primary).subscribe(sum, ({ of }) => of + 2)
  await listen(() => undefined)
  await listen(() => {
    throw new Error('no')
  })
  const { end } = await listen((of) => of + 3)
  join()
  expect(await one.publish(sum, { of: 10 })).toEqual([11, 12, 13])
  end()
  expect(await one.publish(sum, { of: 20 })).toEqual([21, 22])
})

test('what is locked by one is free again when it ends', async () => {
  const join = startPrimary()
  const [one, two] = [join(), join()]
  await two.primary.lock('conversation')
  expect(await one.primary.lock('conversation')).toBeUndefined()
  two.end()
  expect(await one.primary.lock('conversation')).toBeDefined()
})

test('a document is known to all when its change is done, and to those that come later', async () => {
  const join = startPrimary()
  const [one, two] = [shareOver(join().primary), shareOver(join().primary)]
  const known: unknown[] = []
  await two.documents.watch('preset', (json) => known.push(json))
  await one.documents.change('preset', () => ({ name: 'calm' }))
  expect(known).toEqual([{ name: 'calm' }])
  await shareOver(join().primary).documents.watch('preset', (json) => known.push(json))
  expect(known).toEqual([{ name: 'calm' }, { name: 'calm' }])
})

test('metrics are summed; what one counted that has ended stays, and what it had does not', async () => {
  const join = startPrimary()
  const metric = (type: string, name: string, value: number) => ({
    name,
    help: name,
    type,
    aggregator: 'sum',
    values: [{ labels: {}, value }],
  })
  const read = (counted: number) => async () => [metric('counter', 'served', counted), metric('gauge', 'busy', 1)]
  const [one, two] = [join(), join()]
  const render = one.primary.sumMetrics(read(2))
  two.primary.sumMetrics(read(3))
  expect(await render()).toMatch(/^served 5$[\s\S]*^busy 2$/m)
  two.end()
  expect(await render()).toMatch(/^served 5$[\s\S]*^busy 1$/m)
})
