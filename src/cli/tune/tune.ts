import { availableParallelism } from 'node:os'
import { stringify } from 'yaml'
import { thisMachine } from '../../app/offers/this-machine.ts'
import { ownFolders } from '../../config/own-folders.ts'
import { AppError } from '../../contract/errors.ts'
import { hasFiles } from '../../lifecycle/fetch-files.ts'
import { locateModelFile } from '../../registry/fetch/fetch-model.ts'
import { readWeights } from '../../registry/gguf/gguf-weights.ts'
import { readFacts } from '../../registry/gguf/memory-need.ts'
import { resolvePath } from '../../registry/names/sources.ts'
import { notHere } from '../models/not-here.ts'
import { findWanted, type LoadModels } from '../models/wanted-model.ts'
import { formatTable } from '../terminal/table.ts'
import { dimensionsOf } from './dimensions.ts'
import { measureModel } from './measure.ts'
import { type Chosen, searchSettings } from './search.ts'
import { writeSettings } from './write-settings.ts'

type TuneOptions = {
  readonly name: string
  readonly minutes: number
  /** The configuration file, if the settings shall be written. */
  readonly write: string | undefined
  readonly loadConfig: LoadModels
}

/** Measures a model with other settings on this machine, says what each gains, and writes the best into the configuration when told to. */
export async function tune({ name, minutes, write, loadConfig }: TuneOptions): Promise<void> {
  const { model, config, isFromSource } = await findWanted(name, loadConfig)
  if (!hasFiles(model))
    throw new AppError('invalid-request', `model '${model.id}' does not run here: its engine is ${model.engine}`)
  if (write !== undefined && isFromSource) throw new AppError('invalid-request', `'${name}' is not a model of ${write}`)
  const file = await locateModelFile(model.source, config.home)
  if (file === undefined) throw notHere(model, name)
  const { gpuBytes = 0 } = await thisMachine(config.home)
  const layers = (await readWeights(file.path))?.layers ?? []
  const isMixture = layers.some(({ expertBytes }) => expertBytes > 0)
  const expertLayers = isMixture && gpuBytes > 0 ? layers.length : 0
  const headLayers = (await readFacts(file.path))?.headLayers.length ?? 0
  const found = await searchSettings({
    dimensions: dimensionsOf(model, { cores: availableParallelism(), expertLayers, headLayers }),
    limitMs: minutes * 60_000,
    onTrial: (dimension, { label }, result) => {
      console.error(`${dimension} ${label}: ${typeof result === 'string' ? result : `${result.toFixed(1)} s`}`)
    },
    measure: (settings, mostMs) => measureModel(config, model, { settings, mostMs }),
  })
  if (typeof found === 'string')
    throw new AppError('model-unavailable', `model '${model.id}' cannot be measured as it is configured: ${found}`)
  const { chosen, firstSeconds, seconds, endedEarly } = found
  console.log(`${firstSeconds.toFixed(1)} s for a prompt of 1,024 tokens and a reply of 256, with the present settings`)
  if (endedEarly) console.error(`${minutes} minutes were not enough for all values: --minutes gives more`)
  if (chosen.length === 0) {
    console.log('no other setting is faster here')
    return
  }
  console.log(formatTable(['SETTING', 'NOW', 'FASTER', 'GAIN'], chosen.map(rowOf)))
  console.log(`${seconds.toFixed(1)} s with all of them: ${(firstSeconds / seconds).toFixed(2)} times as fast`)
  const settings = Object.assign({}, ...chosen.map(({ after }) => after.settings))
  if (write === undefined) {
    console.log(`\n${stringify(withoutSources(settings)).trimEnd()}`)
    console.error(`--write puts them into the file of --config`)
    return
  }
  await writeSettings(resolvePath(write, ownFolders()), model.id, settings)
  console.log(`written into ${write}`)
}

function rowOf({ name, before, after, gain }: Chosen): string[] {
  return [name, before.label, after.label, `${gain.toFixed(2)} x`]
}

/** As a person writes them: without those that are absent, and without the source of a draft. */
function withoutSources(settings: Readonly<Record<string, unknown>>): object {
  return JSON.parse(JSON.stringify(settings, (key, value) => (key === 'source' ? undefined : value)))
}
