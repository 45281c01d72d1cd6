import { listModels, type ModelCard, type ServerAddress } from './client.ts'

/** Prints the running server's models as a table. */
export async function list(server: ServerAddress): Promise<void> {
  console.log(formatModels(await listModels(server)))
}

function formatModels(models: readonly ModelCard[]): string {
  const rows = models.map(({ id, state, context_length: contextLength, aliases }) => {
    return [id, state ?? '-', contextLength === undefined ? '-' : String(contextLength), aliases?.join(', ') ?? '']
  })
  const table = [['MODEL', 'STATE', 'CONTEXT', 'ALIASES'], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
