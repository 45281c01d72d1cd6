import { printable } from '../../app/log/printable.ts'
import { AppError } from '../../contract/errors.ts'
import { removeFirstStored } from '../../registry/fetch/stored-models.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import type { ServerAddress } from '../servers/client.ts'
import { commandName } from '../terminal/command-name.ts'
import { findServed } from './served-model.ts'
import { findWanted, type LoadModels } from './wanted-model.ts'

/** Deletes the fetched file of a model. A server that has loaded it keeps it until it unloads the model. */
export async function removeModel(
  name: string,
  { server, loadConfig }: { readonly server: ServerAddress; readonly loadConfig: LoadModels },
): Promise<void> {
  try {
    await removeFile(name, loadConfig)
  } catch (error) {
    const served = await findServed(server, name)
    if (served === undefined) throw error
    const { message } = AppError.from(error)
    const remedy = `the server at ${server.url} has '${served.id}': \`${commandName} unload ${name}\` frees its memory${served.added === true ? ', and removes it from the server' : ''}`
    throw new AppError('invalid-request', `${message}\n${remedy}`)
  }
}

async function removeFile(name: string, loadConfig: LoadModels): Promise<void> {
  const { model, config } = await findWanted(name, loadConfig)
  if (!('source' in model)) throw new AppError('invalid-request', `model '${model.id}' has no file on this machine`)
  const freedBytes = await removeFirstStored(model.source, config.home)
  console.log(`removed ${printable(name)}: ${formatBytes(freedBytes)} are free`)
}
