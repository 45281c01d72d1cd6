import { AppError } from '../../../contract/errors.ts'
import type { Principal } from '../../../contract/principal.ts'
import { authorize } from '../../access/auth.ts'
import type { Models } from '../../run/deps.ts'

/** Removes a model that a request has added, with its file if that was fetched. Rejects with `forbidden` for any other. */
export async function removeAdded({ models, lifecycle }: Models, name: string, caller: Principal): Promise<void> {
  const { id } = await models.find(name, caller)
  if (lifecycle?.models().some((model) => model.id === id && model.isAdded === true) === true) {
    authorize(caller, 'admin')
    await lifecycle.remove(id, caller)
    return
  }
  const origin = 'the configuration, the folder of modelsFolder, or the server that lists it'
  throw new AppError('forbidden', `no request has added ${id}, so none can delete it: remove it from where it comes: ${origin}`)
}
