import type { ModelViewer } from '../../contract/principal.ts'
import type { Models } from './deps.ts'

/** The names of a model in stored replies: the one in a query, and the id of the model that serves it. */
export function namesOf(model: string, { models }: Pick<Models, 'models'>, viewer: ModelViewer): readonly string[] {
  try {
    return [model, models.get(model, viewer).id]
  } catch {
    // It is no longer served, or never was.
    return [model]
  }
}
