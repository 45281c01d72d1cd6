import { printable } from '../../app/log/printable.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { listStored } from '../../registry/fetch/stored-models.ts'
import { catalogue } from '../../registry/names/catalogue.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import { isServing, listModels, type ModelCard, type ServerAddress } from '../servers/client.ts'
import { formatTable } from '../terminal/table.ts'

type ListOptions = {
  readonly server: ServerAddress
  /** The user named this server: without it, there is nothing to list. */
  readonly isServerNamed: boolean
  readonly loadConfig: () => Promise<LoadedConfig>
}

/** Prints the models of the running server, if there is one, and those that were fetched to this disk. */
export async function list({ server, isServerNamed, loadConfig }: ListOptions): Promise<void> {
  if (isServerNamed || (await isServing(server))) console.log(formatModels(await listModels(server)))
  else console.log(`no server runs at ${printable(server.url)}`)
  if (isServerNamed) return
  const { home } = await loadConfig()
  const stored = listStored(home)
  if (stored.length === 0) return
  const rows = stored.map(({ source, sizeBytes }) => [shortNameOf(source), formatBytes(sizeBytes), source])
  console.log(`\n${formatTable(['ON DISK', 'SIZE', 'SOURCE'], rows)}`)
}

/** The short name of the repository that a file is of. */
function shortNameOf(source: string): string {
  return catalogue.find((model) => source.startsWith(`${model.source}/`))?.shortName ?? '-'
}

function formatModels(models: readonly ModelCard[]): string {
  const rows = models.map(({ id, state, context_length: contextLength, aliases }) => {
    return [id, state ?? '-', contextLength === undefined ? '-' : String(contextLength), aliases?.join(', ') ?? '']
  })
  return formatTable(['MODEL', 'STATE', 'CONTEXT', 'ALIASES'], rows)
}
