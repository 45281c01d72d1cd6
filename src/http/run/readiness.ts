import { z } from 'zod'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import type { Topic } from '../../contract/server/shared.ts'

/** Asks other processes of the server whether they are ready. */
export const readyTopic: Topic<object, boolean> = { name: 'ready', message: z.object({}), answer: z.boolean() }

type Judged = Pick<ModelSummary, 'id' | 'state' | 'loadsAtStart' | 'isAwaited' | 'isRequired' | 'standIn'>

/**
 * Whether a server with these models should get requests: when every required model answers, or, without any, when each of the others has
 * been tried and one answers. So one dead upstream of many does not take the server out of rotation. `isUnknown`: there may be more
 * models, on servers that have not listed them yet.
 */
export function isReady(models: readonly Judged[], isUnknown = false): boolean {
  const answers = (model: Judged) => {
    const { state, isAwaited, loadsAtStart, standIn } = model
    if (state.type === 'ready') return true
    if (isAwaited) return false
    // Loaded by its first request.
    if (!loadsAtStart && state.type !== 'failed') return true
    return standIn !== undefined && models.some(({ id, state: other }) => id === standIn && other.type === 'ready')
  }
  const required = models.filter(({ isRequired }) => isRequired === 'yes')
  if (required.length > 0) return required.every(answers)
  const others = models.filter(({ isRequired }) => isRequired === 'any')
  return others.length === 0 ? !isUnknown : !others.some(({ isAwaited }) => isAwaited) && others.some(answers)
}
