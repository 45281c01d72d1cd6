type Command = readonly [program: string, args: readonly string[]]
type Step = { readonly name: string; readonly share?: number; readonly command?: Command; readonly skipped?: string }
type Result = { readonly name: string; readonly outcome: string; readonly seconds: number; readonly output: string }

export function stepsOf(options: { readonly model?: string; readonly draft?: string; readonly cpu?: boolean }): readonly Step[]
export function runSteps(
  steps: readonly Step[],
  options: { readonly limitMs: number; readonly onStep?: (name: string) => void },
): Promise<Result[]>
export function recordOf(
  results: readonly Result[],
  run: { readonly date: string; readonly machine: string; readonly commit: string; readonly command: string },
): string
