import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { z } from 'zod'
import { textOfFile } from '../base/text/utf8.ts'
import { fileReason } from '../canonical/failure-reason.ts'
import { AppError } from '../contract/errors.ts'
import { findNameConflicts } from '../registry/names/aliases.ts'
import { resolvePath } from '../registry/names/sources.ts'
import { type DerivedEngine, deriveEngines } from './derive-engines.ts'
import { type ConfigDocument, parseConfigDocument } from './document.ts'
import { separateEntries } from './entries.ts'
import { findUnknownModels } from './fallbacks.ts'
import { givenFlags, type ModelFlags } from './model-flags.ts'
import { type ConfiguredModel, mergeModels, modelFromFlag, resolveModelPaths } from './models.ts'
import { applyOverrides, collectOverrides, findOverride, type Override } from './overrides.ts'
import { type ConfigProblem, describeIssues, formatPath } from './problems.ts'
import { type Config, configSchema, type ModelConfig, type modelSchema } from './schema.ts'
import type { ListingConfig } from './sections/listing-schema.ts'
import { isPostgresUrl } from './sections/storage-schema.ts'
import { findUnshared } from './workers.ts'

/** The values of the command-line flags, as typed. */
export type ConfigFlags = {
  readonly config?: string | undefined
  readonly host?: string | undefined
  readonly port?: string | undefined
  readonly logLevel?: string | undefined
  readonly workers?: string | undefined
  readonly models?: readonly string[] | undefined
  /** For those models; names other than the source's are for the first. */
  readonly modelFlags?: ModelFlags | undefined
}

type ConfigInputs = {
  readonly flags: ConfigFlags
  readonly env: Readonly<Record<string, string | undefined>>
  /** The base of relative paths on the command line. */
  readonly cwd: string
  readonly userHome: string
}

/** The effective configuration: all paths are absolute, and there is at least one model. */
export type LoadedConfig = Omit<Config, 'models'> & {
  readonly models: readonly ConfiguredModel[]
  /** The servers whose models are all served. */
  readonly listings: readonly ListingConfig[]
  /** Dragoman's data folder. */
  readonly home: string
}

type ConfigFile = { readonly path: string; readonly text: string }

/**
 * Merges flags, environment, file and defaults; the earlier wins. Throws `invalid-request` with one line for each error.
 */
export async function loadConfig(inputs: ConfigInputs): Promise<LoadedConfig> {
  const { config } = inputs.flags
  if (config === undefined) return buildConfig(inputs)
  const path = resolvePath(config, { base: inputs.cwd, userHome: inputs.userHome })
  return buildConfig(inputs, { path, text: await readConfigFile(path) })
}

function buildConfig(inputs: ConfigInputs, file?: ConfigFile): LoadedConfig {
  const { flags, env, cwd, userHome } = inputs
  const document = parseConfigDocument(file?.text ?? '')
  if (document.problems.length > 0) throw configError(document.problems.map((problem) => `${file?.path}: ${problem}`))
  // An emptied file must not mean the defaults, which need no key.
  if (file !== undefined && isEmpty(document.value)) {
    throw configError([`${file.path}: it has no settings: write some, or serve the defaults without a configuration file`])
  }

  const overrides = collectOverrides(
    { host: flags.host, port: flags.port, workers: flags.workers, 'log-level': flags.logLevel },
    env,
  )
  const raw = applyOverrides(deriveEngines(document.value ?? {}), overrides)
  const parsed = configSchema.safeParse(raw)
  const problems = describeIssues(parsed.error?.issues ?? [], raw).map((problem) => {
    return locate(problem, findOverride(overrides, problem.path), file && { path: file.path, document })
  })
  const { models: flagModels, problems: flagProblems } = modelsFromFlags(flags, { base: cwd, userHome })
  problems.push(...flagProblems)
  // The command line is not part of the configuration.
  const [problem] = problems
  if (flagProblems.length > 0 && problems.length === 1) throw new AppError('invalid-request', `${problem}`)
  if (parsed.data === undefined || problems.length > 0) throw configError(problems)

  return resolveConfig(parsed.data, { flagModels, base: file === undefined ? cwd : dirname(file.path), env, cwd, userHome })
}

function modelsFromFlags(
  { models: sources = [], modelFlags = {} }: ConfigFlags,
  folders: { readonly base: string; readonly userHome: string },
): { readonly models: readonly ModelConfig[]; readonly problems: readonly string[] } {
  const given = givenFlags(modelFlags)
  if (sources.length === 0 && given.length > 0) {
    const problem = `${given.join(', ')}: for the model that --model names; add --model, or set it in the configuration file`
    return { models: [], problems: [problem] }
  }
  const models: ModelConfig[] = []
  const problems = new Set<string>()
  for (const [index, text] of sources.entries()) {
    const { aliases = [], ...settings } = modelFlags
    try {
      const model = modelFromFlag(text, folders, settings)
      models.push(index === 0 ? { ...model, aliases: [...model.aliases, ...aliases] } : model)
    } catch (error) {
      problems.add(AppError.from(error).message)
    }
  }
  return { models, problems: [...problems] }
}

/** Whether a file is empty, has only comments, or is `{}`. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** A configuration in the form that applications write: as `dragoman.yaml`. */
export type ConfigInput = Written<
  Omit<FullInput, 'models'> & { models?: (ModelInput | Extract<EntryInput, { from: unknown }>)[] }
>

type FullInput = z.input<typeof configSchema>
type EntryInput = NonNullable<FullInput['models']>[number]
/** A model whose other settings show its engine may leave it out. */
type ModelInput<Entry = z.input<typeof modelSchema>> = Entry extends { engine: infer Engine }
  ? Engine extends DerivedEngine
    ? Omit<Entry, 'engine'> & { engine?: Engine }
    : Entry
  : never

/** Constants of a program are accepted, too. */
type Written<T> = T extends readonly (infer Item)[]
  ? readonly Written<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Written<T[Key]> }
    : T

/**
 * A configuration from an object instead of a file; flags and variables do not apply. `needsModel`: without any model, the default one is
 * served. Throws `invalid-request` with one line for each error.
 */
export function configFromObject(
  written: ConfigInput,
  { needsModel, ...inputs }: Omit<ConfigInputs, 'flags'> & { readonly needsModel: boolean },
): LoadedConfig {
  const raw = deriveEngines(written)
  const parsed = configSchema.safeParse(raw)
  if ((parsed.data?.server.workers ?? 1) > 1) {
    throw configError(['server.workers: a server inside a program is one process: leave it out, or use `dragoman serve`'])
  }
  if (parsed.data === undefined) {
    throw configError(describeIssues(parsed.error?.issues ?? [], raw).map((problem) => locate(problem, undefined, undefined)))
  }
  return resolveConfig(parsed.data, { flagModels: [], base: inputs.cwd, needsModel, ...inputs })
}

type ResolveInputs = Omit<ConfigInputs, 'flags'> & {
  readonly flagModels: readonly ModelConfig[]
  /** The folder that relative paths refer to. */
  readonly base: string
  readonly needsModel?: boolean
}

function resolveConfig(parsed: Config, { flagModels, base, needsModel, env, cwd, userHome }: ResolveInputs): LoadedConfig {
  const config = separateEntries(parsed)
  const { listings } = config
  const fileModels = config.models.map((model) => resolveModelPaths(model, { base, userHome }))
  const needsDefault = (needsModel ?? true) && config.modelsFolder === undefined && listings.length === 0
  const { workers } = config.server
  // The built-in model runs in one process, too.
  const builtin = config.builtinModel && workers === 1
  const models = mergeModels(flagModels, fileModels, { builtin, needsModel: needsDefault })
  // The schema compares the names within the file; this also compares them with those on the command line.
  const conflicts = findNameConflicts(models)
  if (conflicts.length > 0) throw configError(conflicts.map(({ message }) => `--model: ${message}`))
  // Models that a program adds, a folder contains or servers list become known later.
  const isAllKnown = needsModel !== false && config.modelsFolder === undefined && listings.length === 0
  const unknown = isAllKnown ? findUnknownModels(models) : []
  if (unknown.length > 0) throw configError(unknown)
  const unshared = findUnshared({ workers, models, listings, modelsFolder: config.modelsFolder })
  if (unshared.length > 0) throw configError(unshared)
  const { DRAGOMAN_HOME = '' } = env
  const home = DRAGOMAN_HOME === '' ? join(userHome, '.cache', 'dragoman') : resolvePath(DRAGOMAN_HOME, { base: cwd, userHome })
  const { templates, modelsFolder, storage, media, tools } = config
  const { captureFolder, ...log } = config.log
  const folders = {
    log: { ...log, ...(captureFolder !== undefined && { captureFolder: resolvePath(captureFolder, { base, userHome }) }) },
    ...(templates !== undefined && { templates: resolvePath(templates, { base, userHome }) }),
    ...(modelsFolder !== undefined && { modelsFolder: resolvePath(modelsFolder, { base, userHome }) }),
    ...(media.allowedLocalPath !== undefined && {
      media: { ...media, allowedLocalPath: resolvePath(media.allowedLocalPath, { base, userHome }) },
    }),
  }
  return {
    ...config,
    ...folders,
    tools: resolveTools(tools, { base, userHome }),
    storage: resolveStorage(storage, { base, userHome }),
    models,
    home,
  }
}

function resolveTools(tools: Config['tools'], bases: { readonly base: string; readonly userHome: string }): Config['tools'] {
  const { python, sessions } = tools
  // A name is looked up in PATH, or in the image.
  const hasPath = python?.interpreter?.includes('/') === true && !python.runtime.startsWith('podman:')
  return {
    ...tools,
    ...(hasPath && { python: { ...python, interpreter: resolvePath(python.interpreter ?? '', bases) } }),
    ...(sessions.folder !== undefined && { sessions: { ...sessions, folder: resolvePath(sessions.folder, bases) } }),
  }
}

function resolveStorage(
  storage: Config['storage'],
  bases: { readonly base: string; readonly userHome: string },
): Config['storage'] {
  const { database } = storage
  if (database === undefined || database === 'off' || isPostgresUrl(database)) return storage
  return { ...storage, database: resolvePath(database, bases) }
}

async function readConfigFile(path: string): Promise<string> {
  try {
    return textOfFile(await readFile(path))
  } catch (error) {
    throw new AppError('invalid-request', `the configuration file '${path}' cannot be read: ${fileReason(error)}`, {
      cause: error,
    })
  }
}

/** Prefixes a problem with the flag or variable that set the value, or with its line in the file. */
function locate(
  { path, message }: ConfigProblem,
  override: Override | undefined,
  file: { path: string; document: ConfigDocument } | undefined,
): string {
  if (override !== undefined) return `${override.origin}: ${message}`
  const what = path.length === 0 ? message : `${formatPath(path)}: ${message}`
  return file === undefined ? what : `${file.path}:${file.document.lineOf(path) ?? 1}: ${what}`
}

function configError(problems: readonly string[]): AppError {
  const [only] = problems
  if (problems.length === 1) return new AppError('invalid-request', `the configuration is invalid: ${only}`)
  return new AppError('invalid-request', ['the configuration is invalid:', ...problems].join('\n  '))
}
