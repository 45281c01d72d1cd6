import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { isMap, isSeq, parseDocument } from 'yaml'
import { AppError } from '../../contract/errors.ts'
import type { Value } from './search.ts'

/** Writes settings of a model into a configuration file, whose comments stay. Throws `invalid-request` if the file does not have the model. */
export async function writeSettings(named: string, id: string, settings: Value['settings']): Promise<void> {
  // A link stays one.
  const file = await realpath(named)
  const text = await readFile(file, 'utf8')
  const changed = withSettings(text, { id, settings, isJson: /\.json$/i.test(file) })
  if (changed === undefined) {
    throw new AppError('invalid-request', `'${file}' has no model '${id}': add it there, or set the values where it is`)
  }
  // It may hold keys that only its owner reads.
  const { mode } = await stat(file)
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, changed, { mode })
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}

type Change = { readonly id: string; readonly settings: Value['settings']; readonly isJson: boolean }

/** The text of a configuration with settings of a model; undefined if it does not have the model. */
export function withSettings(text: string, { id, settings, isJson }: Change): string | undefined {
  const document = parseDocument(text)
  const models = document.get('models')
  const model = isSeq(models) ? models.items.find((item) => isMap(item) && item.get('id') === id) : undefined
  if (!isMap(model)) return undefined
  for (const [name, value] of Object.entries(settings)) {
    // A source stays as it is written.
    if (isMap(model.get(name)) && typeof value === 'object' && value !== null && 'source' in value) {
      const { source: _, ...others } = value
      for (const [key, inner] of Object.entries(others)) model.setIn([name, key], inner)
    } else if (value === undefined) model.delete(name)
    else model.set(name, value)
  }
  return isJson ? `${JSON.stringify(document.toJS(), undefined, 2)}\n` : document.toString({ lineWidth: 0 })
}
