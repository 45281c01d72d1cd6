import type { Command } from 'commander'
import { AppError } from '../contract/errors.ts'
import { replay } from './replay.ts'
import type { ServerAddress } from './servers/client.ts'

type Servers = { readonly defaultUrl: string; address(flags: { readonly server: string }): ServerAddress }
type ReplayFlags = {
  readonly server: string
  readonly all?: boolean
  readonly against?: string
  readonly diff?: boolean
  readonly againstKey?: string
  readonly judge?: string
  readonly judgeKey?: string
  readonly script?: string
}

export function addReplayCommand(program: Command, { defaultUrl, address }: Servers): void {
  program
    .command('replay')
    .description('send captured requests (`log.captureFolder`) again, and print the replies, or compare those of two models')
    .argument('<file...>', 'files of captured requests; with --diff or --script, also their folder')
    .option('--server <url>', 'the server to send them to', defaultUrl)
    .option('--all', 'also those that their callers were not allowed to make, or left before that was known')
    .option('--against <model>', 'with --diff: another model of the server, or the URL of another server')
    .option('--against-key <key>', 'the key of that server')
    .option('--diff', 'send conversations to both, and print where the answers differ in more than words')
    .option('--judge <model>', 'with --diff: a model of the server, or the URL of another server, that judges other words')
    .option('--judge-key <key>', 'the key of that server')
    .option('--script <file>', 'write the answers of the server as a script for `startScripted` of dragoman/testing')
    .action(async (files: string[], { against, againstKey, diff = false, judge, judgeKey, script, ...flags }: ReplayFlags) => {
      if (script !== undefined) {
        const { writeScript } = await import('./replay-diff.ts')
        process.exitCode = await writeScript(address(flags), files, script)
        return
      }
      if (diff !== (against !== undefined))
        throw new AppError('invalid-request', '--diff compares with a model or a server: give both --diff and --against')
      if (judge !== undefined && !diff) throw new AppError('invalid-request', '--judge judges the answers of --diff: give both')
      if (against === undefined) {
        process.exitCode = await replay(address(flags), files, flags)
        return
      }
      const { replayDiff } = await import('./replay-diff.ts')
      process.exitCode = await replayDiff(address(flags), files, {
        against: { name: against, key: againstKey },
        judge: judge === undefined ? undefined : { name: judge, key: judgeKey },
      })
    })
}
