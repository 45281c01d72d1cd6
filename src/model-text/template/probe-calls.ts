import type { CallTraits } from './call-traits.ts'
import type { TemplateMessage } from './template-messages.ts'

/** Renders a conversation and returns whether these texts are shown, in this order. */
type Shows = (messages: readonly TemplateMessage[], inOrder: readonly string[], tools?: readonly unknown[]) => boolean
type MakeTurn = (role: string, text: string) => TemplateMessage

const user = 'xUSRx'
const call = { id: 'call00001', args: 'xVALx', result: 'xRESx' }
const second = { id: 'call00002', args: 'xVAL2x', result: 'xRES2x' }
type ProbedCall = typeof call

/** Finds out how a template supports calls, by rendering small conversations. */
export function probeCalls(shows: Shows, turn: MakeTurn, reasoningFields: readonly string[]): CallTraits {
  const spellings: readonly ((text: string) => unknown)[] = [
    (text) => ({ xKEYx: text }),
    (text) => JSON.stringify({ xKEYx: text }),
  ]
  const encode = ({ id, args }: ProbedCall, spell: (text: string) => unknown) => ({
    id,
    type: 'function',
    function: { name: 'xFNx', arguments: spell(args) },
  })
  const answer = ({ id, result }: ProbedCall) => ({ ...turn('tool', result), tool_call_id: id, name: 'xFNx' })
  // Some templates print calls only beside the declaration of the tool.
  const showsHistory = (messages: readonly TemplateMessage[], inOrder: readonly string[]) => {
    const all = [turn('user', user), ...messages]
    return shows(all, [user, ...inOrder]) || shows(all, [user, ...inOrder], [declaredTool])
  }
  type Probe = { readonly probed?: ProbedCall; readonly fields?: Readonly<Record<string, string>>; readonly later?: string }
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
  const calling = (...calls: ProbedCall[]) => ({
    ...turn('assistant', ''),
    tool_calls: calls.map((each) => encode(each, spelled)),
  })
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
  const resultOfText = [turn('assistant', 'xASTx'), nameless]
  const resultsAlone = !toolHistory && showsHistory(resultOfText, ['xASTx', call.result])
  const afterResultOfText = () => showsHistory([...resultOfText, turn('user', 'xLTRx')], ['xASTx', call.result, 'xLTRx'])
  const greeting = [turn('assistant', 'xASTx'), turn('user', user)]
  const opened = [calling(call), answer(call), ...greeting]
  const loses = (messages: readonly TemplateMessage[], inOrder: readonly string[], tools: readonly unknown[] = []) =>
    shows(messages, [], tools) && !shows(messages, inOrder, tools)
  const losesBesideTools =
    loses(greeting, ['xASTx', user], [declaredTool]) ||
    (toolHistory && loses(opened, [call.args, call.result, 'xASTx', user], [declaredTool]))
  return {
    toolHistory,
    resultsAlone,
    userAfterTool: resultsAlone ? afterResultOfText() : any({ later: 'xLTRx' }),
    userAfterCall: showsHistory([calling(call), turn('user', 'xLTRx')], [call.args, 'xLTRx']),
    strayResults: showsHistory([nameless], [call.result]) && showsHistory(stray, ['xASTx', 'xLTRx', call.result]),
    systemBeforeCalls: shows(behindSystem, ['xSYSx']) || shows(behindSystem, ['xSYSx'], [declaredTool]),
    losesFirstReply: loses(greeting, ['xASTx', user]) ? 'always' : losesBesideTools ? 'beside-tools' : 'never',
    callsTogether:
      (showsHistory(together, [call.args, second.args]) && showsHistory(together, [call.result, second.result])) ||
      !showsHistory(apart, [call.args, call.result, second.args, second.result]),
    callsBesideText:
      (showsHistory(besideText, [call.args, call.result]) && showsHistory(besideText, ['xASTx', call.result])) || !toolHistory,
    textBeforeCalls: showsHistory(rounds, texts),
    // As text only if data is not printed: templates that accept both expect data.
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
