import type { Command } from 'commander'
import type { LoadedConfig } from '../../config/load.ts'

export function addRuntimeCommands(program: Command, load: (config: string | undefined) => Promise<LoadedConfig>): void {
  const runtime = program.command('runtime').description('fetch, choose and delete builds of llama.cpp for `llama-server` models')

  runtime
    .command('list')
    .description('list the builds in the data folder, and which one is in use')
    .option('--offered', 'the builds of the newest release for this machine instead')
    .option('-c, --config <file>', 'configuration file')
    .action(async ({ config, offered = false }: { config?: string; offered?: boolean }) => {
      const { listInstalled } = await import('./runtime.ts')
      await listInstalled(await load(config), { offered })
    })

  runtime
    .command('get')
    .description('fetch a build of a release of llama.cpp, check it and try it; the first one is used immediately')
    .argument('[version]', 'the tag of the release, such as b9993 (default: the newest)')
    .option(
      '--build <kind>',
      'cpu, cuda, vulkan, rocm or metal, as far as the release has them (default: the best for this machine)',
    )
    .option('-c, --config <file>', 'configuration file')
    .action(async (version: string | undefined, { config, build }: { config?: string; build?: string }) => {
      const { get } = await import('./runtime.ts')
      await get(await load(config), { version, build })
    })

  runtime
    .command('use')
    .description('choose the build on which `llama-server` models without `binary` run')
    .argument('<name>', 'a build, as `list` prints it; none: the llama-server on PATH')
    .option('-c, --config <file>', 'configuration file')
    .action(async (name: string, { config }: { config?: string }) => {
      const { use } = await import('./runtime.ts')
      await use(await load(config), name)
    })

  runtime
    .command('remove')
    .alias('rm')
    .description('delete a build')
    .argument('<name>', 'the build, as `list` prints it')
    .option('-c, --config <file>', 'configuration file')
    .action(async (name: string, { config }: { config?: string }) => {
      const { remove } = await import('./runtime.ts')
      await remove(await load(config), name)
    })
}
