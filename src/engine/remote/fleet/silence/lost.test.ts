import { describe, expect, test } from 'vitest'
import { isLost } from './lost.ts'

const situation = {
  nowMs: 20_000,
  isEjected: false,
  downMs: 15_000,
  isCheckOverdue: false,
  isMute: false,
  stalledMs: 60_000,
  p95Ms: 1000,
}
const request = { beganMs: 9000, hasToken: false, progressMs: undefined, hasLeft: false }
/** Its last byte came 10 seconds ago. */
const begun = { hasToken: true, progressMs: 10_000 }

describe('a request is lost', () => {
  test.each<[string, boolean, Partial<Parameters<typeof isLost>[0] & Parameters<typeof isLost>[1]>]>([
    ['when a check failed and it has waited twice the usual time', true, { p95Ms: 5500 }],
    ['not before twice the usual time', false, { p95Ms: 5501 }],
    ['however fast the model is', true, { beganMs: 14_000, p95Ms: 100 }],
    ['when a check is overdue and it has waited twice the usual time', true, { downMs: undefined, isCheckOverdue: true }],
    ['not by an overdue check before that', false, { downMs: undefined, isCheckOverdue: true, p95Ms: 5501 }],
    ['not while the replica answers its checks', false, { downMs: undefined, p95Ms: 1 }],
    ['at once when the replica is ejected', true, { isEjected: true, beganMs: 14_999 }],
    ['not by a failure before it began: it is a trial', false, { isEjected: true, beganMs: 15_001 }],
    ['not by an ejection whose replica answers its checks', false, { isEjected: true, downMs: undefined }],
    ['when the replica gives nobody anything, whatever its checks say', true, { downMs: undefined, isMute: true }],
    ['with its reply, when the replica gives nobody anything', true, { ...begun, downMs: undefined, isMute: true }],
    ['not for that, while bytes come', false, { ...begun, isMute: true, progressMs: 10_001 }],
    ['with its reply, when that has stopped for very long', true, { ...begun, downMs: undefined, stalledMs: 10_000 }],
    ['with its reply, however short that time is', true, { ...begun, downMs: undefined, progressMs: 19_000, stalledMs: 1000 }],
    ['not with its reply before that', false, { ...begun, downMs: undefined, stalledMs: 10_001 }],
    ['at once when the replica leaves', true, { hasLeft: true, beganMs: 19_999, downMs: undefined }],
    ['not while it makes progress', false, { isEjected: true, hasLeft: true, progressMs: 10_001 }],
    ['when its progress has stopped for 10 seconds', true, { isEjected: true, progressMs: 10_000 }],
    ['when its progress has stopped for twice the usual time', true, { progressMs: 9000, beganMs: 0, p95Ms: 5500 }],
    ['not when its progress stopped later', false, { progressMs: 9001, beganMs: 0, p95Ms: 5500 }],
    ['with its reply, when the replica is ejected and no byte came for 10 seconds', true, { ...begun, isEjected: true }],
    ['not with its reply, while bytes come', false, { ...begun, isEjected: true, progressMs: 10_001 }],
    ['not with its reply, by one failed check', false, { ...begun, beganMs: 0, progressMs: 0 }],
    ['not with its reply, by an overdue check', false, { ...begun, downMs: undefined, isCheckOverdue: true, progressMs: 0 }],
    ['not with its reply, when the replica leaves', false, { ...begun, hasLeft: true }],
  ])('a request is lost %s', (_, expected, changes) => {
    const all = { ...request, ...situation, ...changes }
    expect(isLost(all, all)).toBe(expected)
  })
})
