import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { describe } from '../../api/client.ts'
import { address, go, linkTo } from '../../frame/router.ts'
import { chatTexts } from '../../texts/chat.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { say } from '../../ui/said.tsx'
import { running, stopAnswers } from './answers.ts'
import { type Conversation, countOf, foldersOf } from './conversation.ts'
import { ConversationDialog } from './conversation-dialog.tsx'
import { exportTo } from './export.ts'
import { conversations, discard, isAllRead, take } from './library.ts'
import { Folder, Rows } from './list-rows.tsx'

/** How long the words of a search must stand before it begins. */
const pauseMs = 150

/** The conversations of this browser: pinned ones, folders, then the others, each the newest first. */
export function ConversationList({ current, onPick }: { readonly current: readonly string[]; readonly onPick: () => void }) {
  const [leaving, setLeaving] = useState<Conversation | undefined>(undefined)
  const [about, setAbout] = useState<string | undefined>(undefined)
  const file = useRef<HTMLInputElement>(null)
  const words = usePaused(address.value.query.filter ?? '')
  const matches = useMemo(() => matcherOf(words), [words])
  const all = [...(conversations.value?.values() ?? [])].map((each) => each.value).sort((a, b) => b.updatedAtMs - a.updatedAtMs)
  const found = all.filter(matches)
  const unpinned = byFolder(found.filter(({ isPinned }) => isPinned !== true))
  const runs = new Set([...running.value.values()].map(({ conversation }) => conversation.peek().id))
  const subject = about === undefined ? undefined : conversations.value?.get(about)
  const importFile = async (chosen: File | undefined) => {
    if (chosen === undefined) return
    try {
      const { readFile } = await import('./formats/read-file.ts')
      const imported = await readFile(chosen)
      await take(imported)
      say(chatTexts.imported(imported.length))
    } catch (error) {
      say(describe(error))
    }
  }
  const rows = (some: readonly Conversation[]) => (
    <Rows key={words} {...{ some, current, runs, onPick }} onAbout={setAbout} onDelete={setLeaving} />
  )
  return (
    <section class="conversations" aria-label={chatTexts.list}>
      <div class="conversations-room">
        {rows(found.filter((each) => each.isPinned === true))}
        {foldersOf(found).map((name) => {
          const inside = unpinned.get(name) ?? []
          return (
            inside.length > 0 && (
              <Folder
                key={name}
                name={name}
                count={inside.length}
                opens={words !== '' || inside.some(({ id }) => current.includes(id))}
              >
                {rows(inside)}
              </Folder>
            )
          )
        })}
        {rows(unpinned.get(undefined) ?? [])}
      </div>
      {found.length === 0 && isAllRead.value && (
        <p class="muted small conversations-none">{all.length === 0 ? chatTexts.none : chatTexts.noneFound}</p>
      )}
      <div class="conversations-end">
        <Button kind="plain" onClick={() => file.current?.click()}>
          {chatTexts.import}
        </Button>
        <Button kind="plain" disabled={all.length === 0 || !isAllRead.value} onClick={() => void exportTo('json', all)}>
          {chatTexts.exportAll}
        </Button>
        <input
          ref={file}
          type="file"
          accept=".json,.zip,application/json,application/zip"
          class="unseen"
          tabIndex={-1}
          aria-label={chatTexts.import}
          onChange={(event) => {
            void importFile(event.currentTarget.files?.[0])
            event.currentTarget.value = ''
          }}
        />
      </div>
      {subject !== undefined && <ConversationDialog conversation={subject} onClose={() => setAbout(undefined)} />}
      {leaving !== undefined && (
        <Confirm
          title={chatTexts.deleteTitle}
          action={chatTexts.delete}
          onClose={() => setLeaving(undefined)}
          onConfirm={() => {
            stopAnswers([leaving.id])
            void discard(leaving.id)
            if (current.includes(leaving.id)) go(linkTo('chat'))
          }}
        >
          <p>{chatTexts.deleteWhat(leaving.title, countOf(leaving))}</p>
        </Confirm>
      )}
    </section>
  )
}

function byFolder(all: readonly Conversation[]): ReadonlyMap<string | undefined, readonly Conversation[]> {
  const groups = new Map<string | undefined, Conversation[]>()
  for (const each of all) {
    const group = groups.get(each.folder)
    if (group === undefined) groups.set(each.folder, [each])
    else group.push(each)
  }
  return groups
}

/** The text once nobody has changed it for a moment: a search reads all that was said. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), text === '' ? 0 : pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return paused
}

/** Whether a conversation has these words. Each state of a conversation is searched once. */
function matcherOf(words: string): (conversation: Conversation) => boolean {
  const sought = new RegExp(words.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
  const known = new WeakMap<Conversation, boolean>()
  return (conversation) => {
    const { title, folder = '', messages } = conversation
    const has =
      known.get(conversation) ??
      (words === '' || sought.test(title) || sought.test(folder) || Object.values(messages).some(({ text }) => sought.test(text)))
    known.set(conversation, has)
    return has
  }
}
