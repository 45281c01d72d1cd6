import type { TemplateMessage } from './template-messages.ts'

/** Renders a conversation and says whether these texts are shown, in this order. */
export type Shows = (messages: readonly TemplateMessage[], inOrder: readonly string[], tools?: readonly unknown[]) => boolean
type Turn = (role: string, text: string) => TemplateMessage

/** What of the history of calls a template can express. */
export type CallTraits = {
  /** Tool calls of earlier turns and their results are rendered. */
  readonly toolHistory: boolean
  /** A user turn may follow a tool result, before the assistant has answered it. */
  readonly userAfterTool: boolean
  /** A user turn may follow a call that has no result. */
  readonly userAfterCall: boolean
  /** A result that follows no call, or comes after a later user turn, is rendered. */
  readonly strayResults: boolean
  /** A system message at the start is rendered when calls and results follow. */
  readonly systemBeforeCalls: boolean
  /** Several calls of one turn are rendered, their results behind them; otherwise only one in each turn. */
  readonly callsTogether: boolean
  /** A turn's calls are rendered when it has text as well. */
  readonly callsBesideText: boolean
  /** The text of turns with calls may stand in turns of its own in front, round after round. */
  readonly textBeforeCalls: boolean
  /** Tool-call arguments are printed from data; otherwise they must be handed over as JSON text. */
  readonly objectArguments: boolean
  /** Arguments that are no JSON object are rendered as the text they are. */
  readonly anyArguments: boolean
  /** Ids of calls must be nine letters and digits. */
  readonly nineCharacterIds: boolean
  /** The fields, of those asked for, whose text is shown as reasoning beside a call. */
  readonly reasoningBesideCall: readonly string[]
}

const user = 'xUSRx'
const call = { id: 'call00001', args: 'xVALx', result: 'xRESx' }
const second = { id: 'call00002', args: 'xVAL2x', result: 'xRES2x' }
type Call = typeof call

export function probeCalls(shows: Shows, turn: Turn, reasoningFields: readonly string[]): CallTraits {
  const spellings: readonly ((text: string) => unknown)[] = [
    (text) => ({ xKEYx: text }),
    (text) => JSON.stringify({ xKEYx: text }),
  ]
  const encode = ({ id, args }: Call, spell: (text: string) => unknown) => ({
    id,
    type: 'function',
    function: { name: 'xFNx', arguments: spell(args) },
  })
  const answer = ({ id, result }: Call) => ({ ...turn('tool', result), tool_call_id: id, name: 'xFNx' })
  // Some templates print calls only beside the declaration of the tool.
  const showsHistory = (messages: readonly TemplateMessage[], inOrder: readonly string[]) => {
    const all = [turn('user', user), ...messages]
    return shows(all, [user, ...inOrder]) || shows(all, [user, ...inOrder], [declaredTool])
  }
  type Probe = { readonly probed?: Call; readonly fields?: Readonly<Record<string, string>>; readonly later?: string }
  const one = (spell: (text: string) => unknown, { probed = call, fields = {}, later }: Probe = {}) =>
    showsHistory(
      [
        { ...turn('assistant', ''), ...fields, tool_calls: [encode(probed, spell)] },
        answer(probed),
        ...(later === undefined ? [] : [turn('user', later)]),
      ],
      [...Object.values(fields), probed.args, probed.result],
    )
  const any = (probe: Probe = {}) => spellings.some((spell) => one(spell, probe))
  const spelled = spellings.find((spell) => one(spell)) ?? spellings[0] ?? String
  const calling = (...calls: Call[]) => ({ ...turn('assistant', ''), tool_calls: calls.map((each) => encode(each, spelled)) })
  const together = [calling(call, second), answer(call), answer(second)]
  const apart = [calling(call), answer(call), calling(second), answer(second)]
  const besideText = [{ ...calling(call), ...turn('assistant', 'xASTx') }, answer(call)]
  const rounds = [
    ...[turn('assistant', 'xASTx'), calling(call), answer(call)],
    ...[turn('assistant', 'xAST2x'), calling(second), answer(second), turn('assistant', 'xAST3x')],
  ]
  const texts = ['xASTx', call.args, call.result, 'xAST2x', second.args, second.result, 'xAST3x']
  const { name: _, ...nameless } = answer(call)
  const stray = [turn('assistant', 'xASTx'), turn('user', 'xLTRx'), nameless]
  const behindSystem = [turn('system', 'xSYSx'), turn('user', user), calling(call), answer(call)]
  const toolHistory = any()
  return {
    toolHistory,
    userAfterTool: any({ later: 'xLTRx' }),
    userAfterCall: showsHistory([calling(call), turn('user', 'xLTRx')], [call.args, 'xLTRx']),
    strayResults: showsHistory([nameless], [call.result]) && showsHistory(stray, ['xASTx', 'xLTRx', call.result]),
    systemBeforeCalls: shows(behindSystem, ['xSYSx']) || shows(behindSystem, ['xSYSx'], [declaredTool]),
    callsTogether:
      (showsHistory(together, [call.args, second.args]) && showsHistory(together, [call.result, second.result])) ||
      !showsHistory(apart, [call.args, call.result, second.args, second.result]),
    callsBesideText:
      (showsHistory(besideText, [call.args, call.result]) && showsHistory(besideText, ['xASTx', call.result])) || !toolHistory,
    textBeforeCalls: showsHistory(rounds, texts),
    // Data unless only text is printed: templates that know both want data.
    objectArguments: spelled === spellings[0],
    anyArguments: one((text) => text) || !any(),
    nineCharacterIds: any() && !any({ probed: { ...call, id: 'call_probe_1' } }),
    reasoningBesideCall: reasoningFields.filter((field) => any({ fields: { [field]: 'xRSNx' } })),
  }
}

const declaredTool = {
  type: 'function',
  function: { name: 'xFNx', description: 'a tool', parameters: { type: 'object', properties: {} } },
}
