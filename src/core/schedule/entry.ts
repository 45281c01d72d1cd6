import type { Lane } from '../../contract/scheduler.ts'
import type { Contender } from './fair-queue.ts'

/** A request in a scheduler. Only `Decisions` changes it. */
export class Entry implements Contender {
  readonly principal: string
  readonly session: string
  readonly lane: Lane
  /** Called once, when it has a slot that another request needs. */
  onWanted: (() => void) | undefined
  share: Contender['share'] = undefined
  /** `outside`: it has entered, and wants no slot now. */
  state: 'outside' | 'waiting' | 'running' | 'gone' = 'outside'
  hasRun = false
  grantedAtMs = 0
  /** The tokens of the current slot. */
  usedTokens = 0

  constructor(principal: string, session = '', lane: Lane = 'interactive', onWanted?: () => void) {
    this.principal = principal
    this.session = session
    this.lane = lane
    this.onWanted = onWanted
  }
}
