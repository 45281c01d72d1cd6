import { expect, test } from 'vitest'
import { shareOver, startPrimary } from '../../../test/support/process/primary.ts'
import { ToolApprovals } from './tool-approvals.ts'

test('a decision about a call reaches the process in which it waits', async () => {
  const join = startPrimary()
  const [here, there] = [new ToolApprovals(shareOver(join().primary)), new ToolApprovals(shareOver(join().primary))]
  join()
  const decision = { callId: 'c', isApproved: false, reason: 'no', by: 'k', isAdmin: false }
  expect(await here.decideAnywhere(decision)).toBe(false)
  const waiting = there.wait({ callId: 'c', owner: 'k' }, new AbortController().signal)
  expect(await here.decideAnywhere({ ...decision, by: 'other' })).toBe(false)
  expect(await here.decideAnywhere(decision)).toBe(true)
  expect(await waiting).toEqual({ isApproved: false, reason: 'no' })
})
