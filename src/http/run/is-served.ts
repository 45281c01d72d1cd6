import { AppError } from '../../contract/errors.ts'
import type { ModelViewer } from '../../contract/principal.ts'
import type { Models } from './deps.ts'

/** Whether a caller may use a model of this name. */
export async function isServed({ models }: Pick<Models, 'models'>, name: string, viewer: ModelViewer): Promise<boolean> {
  try {
    await models.find(name, viewer)
    return true
  } catch (error) {
    if (AppError.from(error).code === 'model-not-found') return false
    throw error
  }
}
