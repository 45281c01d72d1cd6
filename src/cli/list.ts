import { listModels, type ModelCard, type ServerAddress } from './servers/client.ts'
import { formatTable } from './terminal/table.ts'

/** Prints the running server's models as a table. */
export async function list(server: ServerAddress): Promise<void> {
  console.log(formatModels(await listModels(server)))
}

function formatModels(models: readonly ModelCard[]): string {
  const rows = models.map(({ id, state, context_length: contextLength, aliases }) => {
    return [id, state ?? '-', contextLength === undefined ? '-' : String(contextLength), aliases?.join(', ') ?? '']
  })
  return formatTable(['MODEL', 'STATE', 'CONTEXT', 'ALIASES'], rows)
}
