import { expect, test } from 'vitest'
import { shareOver, startPrimary } from '../../../test/support/process/primary.ts'
import { cancelElsewhere, cancelTopic } from './cancels-elsewhere.ts'

const cancel = { by: 'k', isAdmin: false, cancelId: 'c', replyIds: [] }

test('a cancel goes to the others, and counts what they cancelled', async () => {
  const join = startPrimary()
  const seen: unknown[] = []
  const one = shareOver(join().primary)
  await one.subscribe(cancelTopic, () => 100)
  await shareOver(join().primary).subscribe(cancelTopic, (given) => seen.push(given))
  await shareOver(join().primary).subscribe(cancelTopic, () => 2)
  expect(await cancelElsewhere(one, cancel)).toBe(3)
  expect(seen).toEqual([cancel])
})

test('without other processes, nothing is cancelled there', async () => {
  expect(await cancelElsewhere(undefined, cancel)).toBe(0)
})
