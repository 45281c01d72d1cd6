import type { Command } from 'commander'
import type { CheckFlags } from './check.ts'
import type { ServerAddress } from './servers/client.ts'
import { ownKey } from './servers/own-key.ts'

export function addCheckCommand(program: Command, own: ServerAddress): void {
  program
    .command('check')
    .description('check what a server promises, of any kind: formats, limits, cancellation, and which programs work there')
    .argument('<url>', 'the server, as its clients have it')
    .option('-m, --model <name>', 'the model to ask (default: the first that the server lists)')
    .option('--vector-model <name>', 'the model for vectors and rankings')
    .option('--key <key>', 'the key of the server (default: DRAGOMAN_API_KEY, if it is the server of DRAGOMAN_SERVER)')
    .option('--only <name...>', 'areas such as streams or cancel, or ids of checks')
    .option('--json', 'print all results as JSON')
    .option('--html <file>', 'also write a page with all results')
    .action(async (url: string, flags: CheckFlags) => {
      const { checkServer } = await import('./check.ts')
      process.exitCode = await checkServer(url, { ...flags, key: flags.key ?? ownKey(url, own) })
    })
}
