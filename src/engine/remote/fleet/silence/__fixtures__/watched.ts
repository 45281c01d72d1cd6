import { Silence, type SilentRequest, silenceTickMs } from '../silence.ts'

export const endpoint = { id: 'a', url: 'http://a/v1', weight: 1 }

/** One replica, of which the test plays the checks; `pass` lets seconds pass. */
export function watched() {
  let nowMs = 0
  const state = {
    answers: true,
    isEjected: false,
    canMove: true,
    canMoveFromDead: false,
    bytes: 0,
    work: undefined as string | undefined,
  }
  const checksAt: number[] = []
  const movedAt: number[] = []
  const endedWith: string[] = []
  const doubtsAt: number[] = []
  const muted: string[] = []
  const pending: { readonly atMs: number; settle(isOk: boolean): void }[] = []
  const silence = new Silence({
    now: () => nowMs,
    isEjected: () => state.isEjected,
    check: () => {
      checksAt.push(nowMs)
      return new Promise((settle) => void pending.push({ atMs: nowMs + (state.answers ? 0 : 2500), settle }))
    },
    report: (id, isOk) => {
      failures = isOk ? 0 : failures + 1
      state.isEjected ||= failures >= 3
      silence.onCheck(id, isOk)
    },
    onMove: () => undefined,
    onDoubt: () => void doubtsAt.push(nowMs),
    readWork: async () => state.work,
    onMute: (id) => void muted.push(id),
    stalledMs: 60_000,
  })
  let failures = 0
  const settle = async () => {
    for (const one of pending.splice(0)) {
      if (one.atMs > nowMs) pending.push(one)
      else one.settle(state.answers)
    }
    await new Promise(setImmediate)
  }
  const pass = async (seconds: number) => {
    for (let tick = 0; tick < seconds * 4; tick++) {
      nowMs += silenceTickMs
      await settle()
      silence.tick()
      await settle()
    }
  }
  const watch = (promptTokens = 100, options: Partial<SilentRequest> = {}) =>
    silence.watch({
      endpoint,
      promptTokens,
      isBatching: true,
      received: () => state.bytes,
      canMove: (isDead) => state.canMove || (isDead && state.canMoveFromDead),
      end: ({ failure }) => {
        movedAt.push(nowMs)
        endedWith.push(failure.type)
      },
      ...options,
    })
  /** Another replica gives a token. */
  const other = () => {
    const one = watch(100, { endpoint: { ...endpoint, id: 'b' }, received: () => 0 })
    one.begun()
    one.ended()
  }
  /** Lets seconds pass in which another replica gives tokens. */
  const passBusy = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await pass(1)
      other()
    }
  }
  /** The model has taken that long for 20 prompts. */
  const learn = async (seconds: number) => {
    silence.learnCheck(2)
    for (let prompt = 0; prompt < 20; prompt++) {
      const one = watch()
      await pass(seconds)
      one.begun()
      one.ended()
    }
    checksAt.length = 0
    return nowMs
  }
  /** Seconds without a tick. */
  const skip = (seconds: number) => {
    nowMs += seconds * 1000
  }
  return { state, pass, passBusy, skip, watch, other, learn, silence, checksAt, movedAt, endedWith, doubtsAt, muted }
}
