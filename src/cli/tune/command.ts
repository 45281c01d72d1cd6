import type { Command } from 'commander'
import { AppError } from '../../contract/errors.ts'
import type { LoadModels } from '../models/wanted-model.ts'

type Flags = { readonly write?: boolean; readonly minutes: string; readonly config?: string }

export function addTuneCommand(program: Command, loadWith: (config: string | undefined) => LoadModels): void {
  program
    .command('tune')
    .description(
      'measure a model with other threads, batches, attention, caches, experts and drafts here, and say what each gains',
    )
    .argument('<model>', 'a model of the configuration, a short name, or a source')
    .option('--write', 'write the fastest settings into the file of --config')
    .option('--minutes <number>', 'how long it may take', '5')
    .option('-c, --config <file>', 'configuration file')
    .action(async (name: string, { write = false, minutes, config }: Flags) => {
      if (write && config === undefined) throw new AppError('invalid-request', '--write needs --config, whose file it changes')
      const limit = Number(minutes)
      if (!(limit > 0)) throw new AppError('invalid-request', `--minutes: '${minutes}' is not a time; give a number above 0`)
      const { tune } = await import('./tune.ts')
      await tune({ name, minutes: limit, write: write ? config : undefined, loadConfig: loadWith(config) })
    })
}
