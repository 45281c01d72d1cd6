import { messageOf } from '../contract/errors.ts'
import type { ModelViewer } from '../contract/principal.ts'
import type { BatchDeps } from './deps.ts'

/** Tells why a caller cannot use a model; undefined: it can. */
export function refuseModelFor({ models }: Pick<BatchDeps, 'models'>, viewer: ModelViewer) {
  return async (name: string): Promise<string | undefined> => {
    try {
      await models.find(name, viewer)
      return undefined
    } catch (error) {
      return messageOf(error)
    }
  }
}
