import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const freePort = () =>
  new Promise<number>((resolve) => {
    const s = createServer().listen(0, '127.0.0.1', () => {
      const { port } = s.address() as { port: number };
      s.close(() => resolve(port));
    });
  });

interface Proxy {
  url: string;
  stop: () => Promise<void>;
}

/** A real nginx in front of a port that holds streams back, as its defaults do. */
export async function nginx(upstream: number): Promise<Proxy> {
  // Between finding a free port and taking it somebody else may.
  for (let left = 3; ; left--) {
    try {
      return await start(upstream);
    } catch (e) {
      if (!left) throw e;
    }
  }
}

async function start(upstream: number): Promise<Proxy> {
  const dir = mkdtempSync(join(tmpdir(), 'fermata-nginx-'));
  const port = await freePort();
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((n) => `${n}_temp_path ${dir}/${n};`).join('\n');
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
events { worker_connections 64; }
http { access_log off; ${temp}
  server { listen 127.0.0.1:${port};
    location / { proxy_pass http://127.0.0.1:${upstream}; proxy_buffering on; proxy_set_header Host $host:$server_port; }
  } }`,
  );
  const p = spawn(process.env.FERMATA_NGINX ?? 'nginx', ['-c', join(dir, 'nginx.conf'), '-e', join(dir, 'error.log')], { stdio: 'inherit' });
  let ended = false;
  const failed = new Promise<never>((_, reject) => {
    p.once('exit', (code) => {
      ended = true;
      reject(new Error(`nginx ended with ${code}`));
    });
    p.once('error', (e) => {
      ended = true;
      reject(new Error(`${e.message}: install nginx (apt-get install --no-install-recommends nginx), or name it by FERMATA_NGINX`));
    });
  });
  failed.catch(() => {});
  const url = `http://127.0.0.1:${port}`;
  const up = async () => {
    while (!ended) {
      if (
        await fetch(`${url}/chat.html`).then(
          (r) => r.ok,
          () => false,
        )
      )
        return;
      await new Promise((r) => setTimeout(r, 50));
    }
  };
  await Promise.race([up(), failed]);
  return {
    url,
    async stop() {
      const gone = new Promise((r) => p.once('exit', r));
      p.kill('SIGQUIT');
      setTimeout(() => p.kill('SIGKILL'), 2000).unref();
      await gone;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
