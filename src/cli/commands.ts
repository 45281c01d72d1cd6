import { Argument, Command } from 'commander'
import { version } from '../app/version.ts'
import { rootOf } from '../base/text/server-url.ts'
import type { ConfigFlags, LoadedConfig } from '../config/load.ts'
import { ownFolders } from '../config/own-folders.ts'
import { resolvePath } from '../registry/names/sources.ts'
import { protocols } from './agents/agent.ts'
import { agents } from './agents/agents.ts'
import { type BatchFlags, cancelBatch, listBatches, runBatch } from './batch.ts'
import { type CancelFlags, cancel } from './cancel.ts'
import { addCheckCommand } from './check-command.ts'
import { type Shell, shells } from './completion/shells.ts'
import { drain } from './drain.ts'
import { deleteKey, type KeyPlace, listKeys, type NewKeyFlags, newKey } from './keys.ts'
import { addReplayCommand } from './replay-command.ts'
import { addRuntimeCommands } from './runtimes/commands.ts'
import { type LoadFlags, load as loadModel, ps, unload } from './servers/load.ts'
import { commandName } from './terminal/command-name.ts'
import { reportServeFailure } from './terminal/console.ts'
import { addTuneCommand } from './tune/command.ts'

// Modules that serve models take five times as long to load as those that ask a server: only the commands that need them import them.
const defaultServer = process.env.DRAGOMAN_SERVER ?? 'http://127.0.0.1:7411'

type ServeFlags = ModelOptions & {
  config?: string
  host?: string
  port?: string
  workers?: string
  model?: string[]
  alias?: string[]
  logLevel?: string
}
type ModelOptions = { context?: string; slots?: string; gpuLayers?: string; threads?: string }
type ServerFlags = { server: string; config?: string }
type LaunchFlags = ServerFlags & { model?: string; protocol?: string; print?: boolean }

/** Settings of a server that a command starts for itself. */
const ownServer: ConfigFlags = { port: '0', host: '127.0.0.1', workers: '1', logLevel: 'error' }

/** The commands and their arguments: the help, docs/reference/cli.md and the completions of shells are made from them. */
export const program = new Command('dragoman')
  .description('Serves language models over public protocols, with llama.cpp or on other servers.')
  .version(version)
  .showHelpAfterError(`(see ${commandName} --help)`)

/** Settings of the model that the command loads. */
function withModelOptions(command: Command): Command {
  return command
    .option('--context <tokens>', 'tokens that one request may use (default: what the model was trained for, as memory allows)')
    .option('--slots <number>', 'requests that are generated at the same time (default 4)')
    .option('--gpu-layers <number>', 'layers on the GPU: a number, auto (what fits) or max')
    .option('--threads <number>', 'CPU threads (default: one less than there are physical cores)')
}

withModelOptions(program.command('serve'))
  .description('run the server')
  .option('-c, --config <file>', 'configuration file (YAML or JSON)')
  .option('--host <address>', 'address to listen on (default 127.0.0.1)')
  .option('-p, --port <number>', 'port to listen on (default 7411)')
  .option('--workers <number>', 'processes that answer requests, for models on other servers (default 1)')
  .option('-m, --model <source...>', 'serve this model, also as `default`: a short name, a path, hf:, https: or wheel: source')
  .option('--alias <name...>', "other names for the model of --model; * matches any text: 'gpt-*'")
  .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent')
  .action(async (flags: ServeFlags) => {
    try {
      const path = flags.config === undefined ? undefined : resolvePath(flags.config, ownFolders())
      const modelFlags = { ...flags, aliases: flags.alias }
      const reload = () => load({ ...flags, models: flags.model, modelFlags })
      const config = await reload()
      if (config.server.workers === 1) await (await import('./serve.ts')).serve(config, { path, load: reload })
      else await (await import('./serve-workers.ts')).serveWorkers(config, { path, load: reload })
    } catch (error) {
      reportServeFailure(error)
      process.exitCode = 1
    }
  })

withModelOptions(program.command('run'))
  .description('chat with a model in the terminal')
  .argument('<model>', 'a model of the running server, of the configuration, a short name, or a source')
  .argument('[prompt...]', 'the prompt; without it, a conversation')
  .option('-c, --config <file>', 'configuration file, for when no server is running')
  .option('--server <url>', 'the server to use, and no other', defaultServer)
  .action(async (model: string, prompt: string[], flags: ServerFlags & ModelOptions, command: Command) => {
    const { run } = await import('./run.ts')
    process.exitCode = await run({
      model,
      prompt: prompt.join(' '),
      server: address(flags),
      isServerNamed: command.getOptionValueSource('server') === 'cli',
      modelFlags: flags,
      loadConfig: (models) => load({ ...ownServer, config: flags.config, models }),
    })
  })

program
  .command('launch')
  .description(
    'start a coding agent on a model of the running server, or of one that it starts; its own configuration stays as it is',
  )
  .addArgument(agentArgument())
  .argument('[args...]', 'arguments of the agent, behind --')
  .option('-m, --model <name>', "a model of the server (default: the server's default), or a source, which is served meanwhile")
  .option('--protocol <name>', `what the agent speaks, if it has a choice: ${protocols.join(', ')}`)
  .option('--print', 'show what the agent would be started with, and start nothing')
  .option('-c, --config <file>', 'configuration file, for when no server is running')
  .option('--server <url>', 'the server to use, and no other', defaultServer)
  .action(async (name: string | undefined, args: string[], flags: LaunchFlags, command: Command) => {
    const { model, protocol, print = false } = flags
    const { launch, listAgents } = await import('./launch/launch.ts')
    if (name === undefined) return listAgents()
    process.exitCode = await launch({
      name,
      args,
      server: address(flags),
      isServerNamed: command.getOptionValueSource('server') === 'cli',
      model,
      protocol,
      print,
      loadConfig: (models) => load({ ...ownServer, logLevel: 'fatal', config: flags.config, models }),
    })
  })

program
  .command('pull')
  .description('fetch a model, so that serving it needs no network')
  .argument('<model>', 'a model of the configuration, `default`, a short name such as qwen3:8b, or a source')
  .option('-c, --config <file>', 'configuration file')
  .action(async (model: string, flags: { config?: string }) => {
    const { pull } = await import('./models/pull.ts')
    await pull(model, (models) => load({ config: flags.config, models }))
  })

program
  .command('list')
  .description('list the models of the running server, and what was fetched to this disk')
  .option('--server <url>', 'the server to ask, and nothing else', defaultServer)
  .action(async (flags: ServerFlags, command: Command) => {
    const { list } = await import('./models/list.ts')
    const isServerNamed = command.getOptionValueSource('server') === 'cli'
    await list({ server: address(flags), isServerNamed, loadConfig: () => load({}) })
  })

program
  .command('show')
  .description('show what the file of a model says, and what the model needs here; without a file, what the running server says')
  .argument('<model>', 'a model of the configuration, a short name, a source, or a model of the server')
  .option('--template', 'print its chat template, and nothing else')
  .option('-c, --config <file>', 'configuration file')
  .option('--server <url>', 'the server to ask', defaultServer)
  .action(
    async (model: string, { config, template = false, ...flags }: ServerFlags & { config?: string; template?: boolean }) => {
      const { showModel } = await import('./models/show.ts')
      await showModel(model, { template, server: address(flags), loadConfig: (models) => load({ config, models }) })
    },
  )

program
  .command('rm')
  .description('delete the fetched file of a model from this disk')
  .argument('<model>', 'a model of the configuration, a short name, or a source, as `list` prints it')
  .option('-c, --config <file>', 'configuration file')
  .action(async (model: string, { config }: { config?: string }) => {
    const { removeModel } = await import('./models/rm.ts')
    const server = address({ server: defaultServer })
    await removeModel(model, { server, loadConfig: (models) => load({ config, models }) })
  })

program
  .command('search')
  .description('list models with short names, and which fit this machine; with a text, also search Hugging Face')
  .argument('[text...]', 'words of the name')
  .action(async (words: string[]) => {
    const { search } = await import('./models/search.ts')
    const { thisMachine } = await import('../app/offers/this-machine.ts')
    await search(words.join(' '), await thisMachine((await load({})).home))
  })

program
  .command('ps')
  .description('show what the running server has loaded, or is loading')
  .option('-a, --all', 'also the models that it could load')
  .option('--server <url>', 'the server to ask', defaultServer)
  .action(async ({ all = false, ...flags }: ServerFlags & { all?: boolean }) => ps(address(flags), all))

program
  .command('load')
  .description('load a model on the running server, and show how far it is; Ctrl+C cancels')
  .argument(
    '<model>',
    'a model of the server, a short name, OWNER/REPO, hf:…, https:… or the absolute path of a GGUF file on its machine',
  )
  .option('--context <tokens>', 'tokens that one request may use')
  .option('--slots <number>', 'requests that are generated at the same time')
  .option('--gpu-layers <number>', 'layers on the GPU; -1: what fits')
  .option('--cache-type <type>', 'the number format of the cache: f16, q8_0, q4_0 …')
  .option('--variant <name>', 'the quantization of a repository, such as Q4_K_M')
  .option('--reload', 'load it again, even if it is loaded with these settings')
  .option('--force', 'cancel the requests that use it')
  .option('--server <url>', 'the server to ask', defaultServer)
  .action(async (model: string, flags: ServerFlags & LoadFlags) => loadModel(address(flags), model, flags))

program
  .command('unload')
  .description('unload a model of the running server')
  .argument('<model>', 'a model of the server')
  .option('--force', 'cancel the requests that use it')
  .option('--server <url>', 'the server to ask', defaultServer)
  .action(async (model: string, flags: ServerFlags & { force?: boolean }) => unload(address(flags), model, flags))

for (const isDraining of [true, false]) {
  program
    .command(isDraining ? 'drain' : 'undrain')
    .description(isDraining ? 'send no new requests to a server of a remote model' : 'send requests to it again')
    .argument('<model>', 'a remote model of the running server')
    .argument('<url>', 'the URL of the server behind it, or its host and port')
    .option('--server <url>', 'the Dragoman server to use', defaultServer)
    .action(async (model: string, url: string, flags: ServerFlags) => drain(address(flags), { model, url, isDraining }))
}

program
  .command('cancel')
  .description('cancel requests of the running server')
  .option('--id <id>', 'the id of the reply, such as chatcmpl-…')
  .option('--session <id>', 'all requests of the session')
  .option('--cancel-id <id>', 'the request with this cancel_id')
  .option('--server <url>', 'the server to ask', defaultServer)
  .action(async (flags: ServerFlags & CancelFlags) => {
    process.exitCode = await cancel(address(flags), flags)
  })

addReplayCommand(program, { defaultUrl: defaultServer, address })

addCheckCommand(program, address({ server: defaultServer }))

const batch = program
  .command('batch')
  .description('run files of requests when nobody waits for the server, list them, and end them')

batch
  .command('run')
  .description('run a file of JSON lines in the form of OpenAI, follow it, and write the results; Ctrl+C leaves it running')
  .argument('<file>', 'the requests; while the same file runs, it is followed')
  .option('-m, --model <name>', 'the model of all requests')
  .option('-o, --output <file>', 'where the results go (default: FILE.results.jsonl)')
  .option('--server <url>', 'the server to ask', defaultServer)
  .action(async (file: string, flags: ServerFlags & BatchFlags) => {
    process.exitCode = await runBatch(address(flags), file, flags)
  })

batch
  .command('list')
  .description('list the batches of your key')
  .option('--server <url>', 'the server to ask', defaultServer)
  .action(async (flags: ServerFlags) => listBatches(address(flags)))

batch
  .command('cancel')
  .description('end a batch; the results so far are kept')
  .argument('<id>', 'the id of the batch')
  .option('--server <url>', 'the server to ask', defaultServer)
  .action(async (id: string, flags: ServerFlags) => cancelBatch(address(flags), id))

program
  .command('tools')
  .description('list the tools that the server runs itself, and why others are absent, or try one')
  .argument('[tool]', 'the tool to try')
  .argument('[input...]', 'its arguments as JSON, or a text')
  .option('-c, --config <file>', 'configuration file')
  .action(async (name: string | undefined, input: string[], flags: { config?: string }) => {
    const { tools } = await import('./tools.ts')
    process.exitCode = await tools(await load({ config: flags.config }), { name, input: input.join(' ') })
  })

program
  .command('doctor')
  .description('check that this machine can serve models')
  .option('-c, --config <file>', 'configuration file')
  .option('--server <url>', 'the server to look for', defaultServer)
  .action(async (flags: ServerFlags) => {
    const { diagnose } = await import('./doctor.ts')
    process.exitCode = await diagnose({ server: address(flags), loadConfig: () => load({ config: flags.config }) })
  })

const keys = program.command('keys').description('make, list and delete the API keys of servers with this data folder')

keys
  .command('new')
  .alias('create')
  .description('make a key and print it, this once')
  .option('--name <name>', 'what the key is for')
  .option('--scope <scope...>', 'inference, tools, metrics, admin, or several (default inference)')
  .option('--models <name...>', 'ids or aliases of the models that it may use (default all)')
  .option('--tools <name...>', 'with the scope tools: tools and MCP servers that it may use (default all)')
  .option('--rpm <number>', 'requests that it may send in a minute')
  .option('--tpm <number>', 'tokens that it may use in a minute, prompts and outputs together')
  .option('--tcpm <number>', 'calls of tools of the server that it may have in a minute')
  .option('--tpd <number>', 'tokens that it may use in a day of UTC')
  .option('--tpmo <number>', 'tokens that it may use in a month of UTC')
  .option('--group <name>', 'the group of server.keyGroups whose limits it shares')
  .option('--expires <time>', 'when it stops working: 30d, 12h, 90m or a date (default never)')
  .option('-c, --config <file>', 'configuration file')
  .action(async ({ config, ...flags }: NewKeyFlags & { config?: string }) => withKeys(config, (keys) => newKey(keys, flags)))

keys
  .command('list')
  .description('list the keys, by their ids')
  .option('-c, --config <file>', 'configuration file')
  .action(async ({ config }: { config?: string }) => withKeys(config, async ({ made }) => listKeys(made)))

keys
  .command('delete')
  .alias('revoke')
  .description('delete a key; a running server refuses it immediately')
  .argument('<key>', 'the id or the name of the key')
  .option('-c, --config <file>', 'configuration file')
  .action(async (key: string, { config }: { config?: string }) => withKeys(config, ({ made }) => deleteKey(made, key)))

addRuntimeCommands(program, (config) => load({ config }))
addTuneCommand(program, (config) => (models) => load({ ...ownServer, logLevel: 'fatal', config, models }))

const config = program
  .command('config')
  .description('check, print or describe the configuration')
  .option('--check', 'check it, and say which models it has')
  .option('--print', 'print what is in effect, with flags, environment and defaults; secrets are masked')
  .option('--schema', 'print the JSON Schema of the file')
  .option('-c, --config <file>', 'configuration file')
  .action(async (flags: { check?: boolean; print?: boolean; schema?: boolean; config?: string }) => {
    const { describeConfig } = await import('./config-command.ts')
    await describeConfig(flags, () => load({ config: flags.config }))
  })

config
  .command('init')
  .description('write a configuration file to begin with, with a model for this machine')
  .argument('[file]', 'the file', 'dragoman.yaml')
  .action(async (file: string) => {
    const { writeFirstConfig } = await import('./config-command.ts')
    await writeFirstConfig(file, (await load({})).home)
  })

program
  .command('completion')
  .description('print a script that completes commands in a shell: eval "$(dragoman completion bash)"')
  .addArgument(new Argument('<shell>', 'your shell').choices(shells))
  .action(async (shell: Shell) => {
    const { completionScript } = await import('./completion/scripts.ts')
    console.log(completionScript(shell))
  })

program
  .command('complete', { hidden: true })
  .argument('<shell>')
  .argument('[words...]')
  .action(async (shell: Shell, words: string[]) => {
    const { printCompletions } = await import('./completion/print-completions.ts')
    await printCompletions(program, { shell, words, loadConfig: () => load({}), server: defaultServer })
  })

/** Lists its values for help and completions; `launch` itself reports unknown ones. */
function agentArgument(): Argument {
  const argument = new Argument('[agent]', 'without one, the agents are listed')
  argument.argChoices = [...agents.keys()]
  return argument
}

async function load({ config, host, port, workers, models, modelFlags, logLevel }: ConfigFlags): Promise<LoadedConfig> {
  const { loadConfig } = await import('../config/load.ts')
  const flags = { config, host, port, workers, models, modelFlags, logLevel }
  const { base: cwd, userHome } = ownFolders()
  return loadConfig({ flags, env: process.env, cwd, userHome })
}

async function withKeys(config: string | undefined, work: (keys: KeyPlace) => Promise<void>): Promise<void> {
  const loaded = await load({ config })
  const { configuredNames } = await import('../app/keys/find-keys.ts')
  const { withMadeKeys } = await import('../app/state/with-made-keys.ts')
  const say = (_: object, message: string) => console.error(message)
  await withMadeKeys(loaded, { info: say, warn: say }, (made) =>
    work({ made, takenNames: configuredNames(loaded.server), groups: Object.keys(loaded.server.keyGroups ?? {}) }),
  )
}

function address({ server }: { readonly server: string }): { url: string; apiKey: string | undefined } {
  return { url: rootOf(server), apiKey: process.env.DRAGOMAN_API_KEY }
}
