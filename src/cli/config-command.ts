import { existsSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { thisMachine } from '../app/offers/this-machine.ts'
import type { LoadedConfig } from '../config/load.ts'
import { printConfig } from '../config/print-config.ts'
import { configJsonSchema } from '../config/schema.ts'
import { AppError, messageOf } from '../contract/errors.ts'
import { suggestModels } from '../registry/names/suggested-models.ts'
import { commandName } from './terminal/command-name.ts'

type ConfigFlags = {
  readonly check?: boolean | undefined
  readonly print?: boolean | undefined
  readonly schema?: boolean | undefined
}

/** Checks, prints or describes the configuration. A problem is thrown, with its line. */
export async function describeConfig({ check, print, schema }: ConfigFlags, load: () => Promise<LoadedConfig>): Promise<void> {
  if (check !== true && print !== true && schema !== true) {
    throw new AppError(
      'invalid-request',
      `name what to do: --check, --print or --schema; \`${commandName} config init\` writes a file`,
    )
  }
  if (schema === true) console.log(JSON.stringify(configJsonSchema(), null, 2))
  if (check !== true && print !== true) return
  const config = await load()
  if (print === true) console.log(printConfig(config).trimEnd())
  else {
    const { absentHere } = await import('./absent-here.ts')
    const absent = await absentHere(config, process.env)
    console.log(`the configuration is valid; models: ${config.models.map(({ id }) => id).join(', ') || 'those of its servers'}`)
    if (absent.length > 0) console.error(['this machine lacks what it names:', ...absent].join('\n  '))
  }
}

/** Writes a configuration with a model that suits this machine. Never replaces a file. */
export async function writeFirstConfig(file: string, home: string): Promise<void> {
  if (existsSync(file)) throw new AppError('invalid-request', `'${file}' is not written: there is such a file already`)
  const [best] = suggestModels(await thisMachine(home))
  const model = best ?? { shortName: 'smollm2:1.7b', name: 'SmolLM2 1.7B' }
  try {
    await writeFile(file, firstConfig(model), { flag: 'wx' })
  } catch (error) {
    throw new AppError('invalid-request', `'${file}' is not written: ${messageOf(error)}`, { cause: error })
  }
  console.log(`${file} is written; serve it: ${commandName} serve --config ${file}`)
}

function firstConfig({ shortName, name }: { readonly shortName: string; readonly name: string }): string {
  return `# yaml-language-server: $schema=${schemaFile()}
# Every setting: ${commandName} config --schema, or dragoman.example.yaml in the package.

server:
  host: 127.0.0.1 # 0.0.0.0 listens on every address; clients then need a key, and one is generated
  port: 7411

models:
  - id: ${shortName.replace(':', '-')}
    source: ${shortName} # ${name}; or ./model.gguf, hf:OWNER/REPO, https://HOST/FILE.gguf
    aliases: [default]
  # - id: elsewhere # a model of another server
  #   endpoints: [{ url: http://127.0.0.1:8000 }]
`
}

/** The schema of this version, for editors. It is in the package; for a checkout, it is written here. */
function schemaFile(): string {
  const file = fileURLToPath(new URL('../dragoman.schema.json', import.meta.url))
  if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(configJsonSchema())}\n`)
  return file
}
